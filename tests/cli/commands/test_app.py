"""`profet app` finds the app's script, and starts Streamlit on it."""

from __future__ import annotations

import sys

import pytest

from benchmarks.served_app import free_port
from profet_cli.main import main
from profet_core.files import shipped_folder


def test_the_app_s_script_is_beside_the_samples_and_the_wheel_ships_what_it_reads(monkeypatch, repository):
    asked = []
    monkeypatch.setattr("streamlit.web.cli.main", lambda: asked.extend(sys.argv))
    port = str(free_port())
    main(["app", "--host", "0.0.0.0", "--port", port])
    script = repository / "streamlit_app.py"
    assert asked == ["streamlit", "run", str(script), "--server.address", "0.0.0.0", "--server.port", port]
    # Each is laid out in the wheel as in a checkout, where the script finds its modules, settings and licenses.
    import tomllib

    project = tomllib.loads((repository / "pyproject.toml").read_text())
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert all(target == f"profet_core/shipped/{source}" for source, target in shipped.items())
    needed = {"streamlit_app.py", ".streamlit", "ui", "pages", "LICENSE", "NOTICE", "models", "sample_traces"}
    assert shipped.keys() == needed and all((repository / source).exists() for source in needed)
    assert shipped_folder("sample_traces") == repository / "sample_traces"


@pytest.mark.parametrize("port", [0, 65_536])
def test_a_port_that_can_t_be_is_one_line(refused, port):
    assert f"from 1 to 65535, not {port}." in refused("app", "--port", port)
