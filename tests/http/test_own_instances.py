"""Whose instances the endpoint tells: by the same word as the app."""

from __future__ import annotations

import pytest

from profet_core.catalog import load_shipped
from profet_core.catalog.instance import FILE_COLUMNS
from profet_core.catalog.own_gpus import GPU_COLUMNS
from profet_http.context import SharedContext


@pytest.fixture
def own(tmp_path, monkeypatch) -> str:
    """The file of who runs the server."""
    path = tmp_path / "instances.csv"
    path.write_text(f"{','.join(FILE_COLUMNS)}\nmy.l4,L4,1,24,8,0.5,us-east-1,linux,on-demand,available,2026,mine\n")
    monkeypatch.setenv("PROFET_INSTANCES", str(path))
    monkeypatch.delenv("PROFET_APP_INSTANCES", raising=False)
    return str(path)


def test_it_is_theirs_unless_they_say_that_it_is_for_everyone(own, tmp_path, monkeypatch, caplog):
    assert list(SharedContext().get().catalog) == list(load_shipped())
    for shown in ("own", own):
        monkeypatch.setenv("PROFET_APP_INSTANCES", shown)
        assert "my.l4" in SharedContext().get().catalog
    # A damaged one is skipped, and the log doesn't say where it is.
    path = tmp_path / "broken.csv"
    path.write_text("instance,gpu\nmy.l4,none\n")
    monkeypatch.setenv("PROFET_APP_INSTANCES", str(path))
    assert list(SharedContext().get().catalog) == list(load_shipped())
    (line,) = caplog.messages
    assert "is ignored" in line and "broken" not in line


@pytest.mark.parametrize(("like", "is_shown"), [("GeForce RTX 2080 Ti", True), ("no such GPU", False)])
def test_gpus_of_one_s_own_are_shown_with_the_instances_beside_them(own, tmp_path, monkeypatch, caplog, like, is_shown):
    row = dict.fromkeys(GPU_COLUMNS, "") | {"gpu": "Quadro RTX 4000", "like": like, "memory_gib": "16"}
    (tmp_path / "gpus.csv").write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
    assert "quadro-rtx-4000" not in SharedContext().get().catalog
    monkeypatch.setenv("PROFET_APP_INSTANCES", own)
    known = SharedContext().get()
    assert "my.l4" in known.catalog
    assert ("quadro-rtx-4000" in known.catalog) == is_shown == ("Quadro RTX 4000" in known.models.transfer.gpus)
    assert len(caplog.messages) == (not is_shown)
