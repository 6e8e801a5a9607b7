"""About, the files: every kind of network file is told there and in the documents."""

from __future__ import annotations

import re

from profet_core.layers.reading import FORMATS


def test_the_network_files_are_those_that_are_read(open_app, repository):
    app = open_app("about", open="files")
    assert not app.error and not app.exception
    (table,) = [each.value for each in app.table if "Format" in each.value and ".keras" in set(each.value["Format"])]
    named = [name.lower().replace("\N{NO-BREAK SPACE}", " ") for name in table["Format"]]
    assert named == [".keras", "model json", "onnx", "layer table"]
    assert all(name.removeprefix("model ") in FORMATS.lower() for name in named)
    document = (repository / "docs" / "NETWORKS.md").read_text(encoding="utf-8")
    listed = [row.strip("`").lower() for row in re.findall(r"^\| ([^|]+) \|", document.partition("## How")[0], re.M)]
    assert set(named) <= set(listed)
    assert any("No code of a file is run" in each.value for each in app.markdown)
