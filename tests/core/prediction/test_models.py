"""A models folder is whole and unchanged, or refused in one line; custom models."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from profet_core import ArtifactError, InputError, load_models
from profet_core.files import default_models_folder, home_folder, manifest_checksum, sha256_hex, shipped_folder
from profet_core.layers.rates import calibrated_gpus
from profet_core.prediction.models import custom_models
from tests.made.custom_home import CELLS, FP32_GPU, GPU, make_custom_home
from tests.made.members import tiny_member

AGAIN = r"git checkout models.*`profet train`"


def refusal(action, says: str) -> None:
    with pytest.raises(ArtifactError, match=says) as caught:
        action()
    assert str(caught.value).isprintable()


def test_a_folder_without_models_or_a_damaged_manifest_is_refused_not_another_layout_of_it(tmp_path):
    (tmp_path / "file").write_text("x")
    for folder in (tmp_path, tmp_path / "nowhere", tmp_path / "file"):
        refusal(lambda folder=folder: load_models(folder), f"^There are no models in .*.*{AGAIN}")
    for content in (b"", b"{", b"[]", b"null", b"{}", b"\xff\xfe{", b"[" * 100_000, b'{"checksum": "0"}'):
        (tmp_path / "manifest.json").write_bytes(content)
        refusal(lambda: load_models(tmp_path), rf"manifest\.json is damaged.*{AGAIN}")
    one = {"a": 1, "b": [1.5, "x"], "checksum": "this is not part of it"}
    assert manifest_checksum(one) == manifest_checksum({"b": [1.5, "x"], "a": 1})
    assert manifest_checksum(one) != manifest_checksum({"b": [1.5, "y"], "a": 1})


def test_a_changed_digit_anywhere_in_the_shipped_manifest_is_refused(repository, tmp_path):
    text = (repository / "models" / "manifest.json").read_text()
    digits = [at for at, character in enumerate(text) if character.isdigit()]
    for at in digits[:: len(digits) // 60]:
        # One up, but never a last decimal that no float64 can tell apart: those lie beyond 16 digits.
        changed = text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :]
        if json.loads(changed) == json.loads(text):
            continue
        (tmp_path / "manifest.json").write_text(changed)
        refusal(lambda: load_models(tmp_path), "is damaged")


@pytest.mark.parametrize("version", [1, 3, "2", None])
def test_a_manifest_of_another_version_is_refused(tmp_path, seal, version):
    seal(tmp_path, {"schema_version": version})
    refusal(lambda: load_models(tmp_path), rf"has version {version}, this program reads 2.*{AGAIN}")


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip_one_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (Path.unlink, "is missing"),
        (truncate, "is damaged"),
        (flip_one_bit, "is damaged"),
        (lambda path: path.write_bytes(b""), "is damaged"),
    ],
    ids=["missing", "truncated", "one bit", "empty"],
)
def test_a_damaged_member_is_refused_by_verify_and_before_it_is_used(tiny_folder, damage, says):
    damage(tiny_folder / "g4dn.xlarge" / "forest.npz")
    models = load_models(tiny_folder)
    says = rf"^The model file .*forest\.npz {says}.*{AGAIN}"
    refusal(models.verify, says)
    inputs = {"clusters": np.zeros((1, 3), np.float32)}
    refusal(lambda: models.run_members("g4dn.xlarge", ["p2.xlarge"], "forest", inputs), says)
    assert models.run_members("g4dn.xlarge", ["p3.2xlarge"], "dense", inputs)[0].tolist() == [0.0]


def other_forest(**arrays) -> bytes:
    whole = {"roots": [[0], [1]], "features": [0, 0], "steps": [0, 0], "numbers": [40.0, 300.0], "inputs": 3}
    data = io.BytesIO()
    np.savez(data, **{name: np.array(value) for name, value in {**whole, **arrays}.items()})
    return data.getvalue()


@pytest.fixture
def with_forest(tiny_folder, seal):
    """`with_forest(data)`: asks the tiny models with this forest, whose checksum is right."""
    name = "g4dn.xlarge/forest.npz"

    def ask(data: bytes):
        (tiny_folder / name).write_bytes(data)
        manifest = json.loads((tiny_folder / "manifest.json").read_text())
        seal(tiny_folder, {**manifest, "files": {**manifest["files"], name: sha256_hex(data)}})
        inputs = {"clusters": np.zeros((1, 3), np.float32)}
        return load_models(tiny_folder).run_members("g4dn.xlarge", ["p2.xlarge"], "forest", inputs)[0].tolist()

    return ask


def test_a_member_that_is_none_is_refused_though_its_checksum_is_right(with_forest):
    says = rf"^The model file .*forest\.npz is damaged.*{AGAIN}"
    # One target for two; its arrays are looked at in tests/core/fitted.
    for data in (b"", other_forest()[:-100], tiny_member("forest", [40.0]), other_forest(steps=[1, 0])):
        refusal(lambda data=data: with_forest(data), says)
    assert with_forest(other_forest(numbers=[41.0, 301.0])) == [301.0], "it was not how it was written"


def test_members_answer_in_the_requested_order_and_those_not_there_are_refused(tiny_folder):
    models = load_models(tiny_folder)
    says = rf"^The models have no member 'forest' from p2\.xlarge to g4dn\.xlarge.*{AGAIN}"
    refusal(lambda: models.run_members("p2.xlarge", ["g4dn.xlarge"], "forest", {}), says)
    says = rf"^The models have no member 'forest' from g4dn\.xlarge to g3s\.xlarge.*{AGAIN}"
    refusal(lambda: models.run_members("g4dn.xlarge", ["p2.xlarge", "g3s.xlarge"], "forest", {}), says)
    says = rf"^The models have no member 'homogeneous' from g4dn\.xlarge.*{AGAIN}"
    refusal(lambda: models.stack("g4dn.xlarge", "homogeneous", latency_known=True, sizes_known=False), says)
    assert True not in models.interval_scales
    models.verify()
    models, inputs = load_models(tiny_folder), {"latency_ms": np.array([[10], [20]], np.float32)}
    targets = ["p2.xlarge", "p3.2xlarge"]
    assert models.run_members("g4dn.xlarge", targets, "line", inputs).tolist() == [[20, 40], [5, 10]]
    assert models.run_members("g4dn.xlarge", targets[::-1], "line", inputs).tolist() == [[5, 10], [20, 40]]


@pytest.mark.parametrize("name", ["manifest.json", "memory.json", "transfer.json", "g4dn.xlarge/forest.npz"])
def test_no_message_tells_where_on_the_machine_the_models_are(repository, tmp_path, name):
    folder = tmp_path / "secret place" / "models"
    shutil.copytree(repository / "models", folder)
    (folder / name).write_bytes(b"{}")

    def load() -> None:
        models = load_models(folder)
        assert models.memory and models.transfer
        models.verify()

    with pytest.raises(ArtifactError, match=re.escape(name)) as caught:
        load()
    assert "secret place" not in str(caught.value)


def test_profet_home_names_the_folder_and_a_named_one_goes_before_it(tiny_folder, tmp_path, monkeypatch, repository):
    monkeypatch.setenv("PROFET_HOME", str(tiny_folder))
    assert default_models_folder() == tiny_folder
    assert load_models().instances == ("g4dn.xlarge", "p3.2xlarge", "p2.xlarge")
    monkeypatch.setenv("PROFET_HOME", "/nowhere")
    assert load_models(str(tiny_folder)).folder == tiny_folder
    refusal(lambda: load_models("/nowhere"), "^There are no models in nowhere: ")
    # A home may have lists alone, or not exist yet; models of which a file is missing are damaged.
    for home in (Path("/nowhere"), tmp_path / "new"):
        monkeypatch.setenv("PROFET_HOME", str(home))
        assert (default_models_folder(), home_folder()) == (repository / "models", home)
    home.mkdir()
    (home / "instances.csv").write_text("instance,gpu,usd_per_hour\n")
    assert load_models().folder == repository / "models"
    (home / "transfer.json").write_text("{}")
    refusal(load_models, "^There are no models in new: ")
    monkeypatch.setenv("PROFET_HOME", "")
    assert default_models_folder() == repository / "models" == shipped_folder("models")
    monkeypatch.delenv("PROFET_HOME")
    assert default_models_folder() == repository / "models"
    assert shipped_folder("no such folder").parts[-3:] == ("profet_core", "shipped", "no such folder")


def test_the_shipped_models_are_whole_and_listed_and_none_is_a_pickle(models):
    models.verify()
    pairs = [(anchor, target) for anchor in models.instances for target in models.instances if anchor != target]
    rows = models.manifest["members"]
    members = {(row["anchor"], target, row["member"]) for row in rows for target in row["targets"]}
    wanted = {"line", "forest", "dense"}
    assert len(pairs) == 12
    assert {(anchor, target, name) for anchor, target in pairs for name in wanted} <= members
    method = models.method("profet")
    assert (method.rules[True].members, method.rules[True].combine) == (("line", "forest", "dense"), "median")
    assert (method.rules[False].members, method.rules[False].combine) == (("forest", "dense"), "mean")
    assert models.method("default").name == models.default_method
    with pytest.raises(InputError, match="Unknown method 'Profet'"):
        models.method("Profet")
    paths = [path for path in models.folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in paths) <= 25 * 2**20
    files = {str(path.relative_to(models.folder)) for path in paths}
    assert {*models.manifest["files"]} == {name for name in files if name.endswith((".npz", ".npy"))}
    assert {Path(name).suffix for name in files} <= {".npz", ".npy", ".json", ".md", ".csv"}
    for name in (name for name in files if name.endswith(".npy")):
        assert np.load(models.folder / name, allow_pickle=False).dtype == np.float32
    for name in (name for name in files if name.endswith(".npz")):
        with np.load(models.folder / name, allow_pickle=False) as arrays:
            assert all(arrays[each].dtype.kind in "ifuU" for each in arrays.files), name


@pytest.mark.parametrize("latency_known", [True, False])
@pytest.mark.parametrize("sizes_known", [True, False])
def test_the_shipped_models_have_the_default_methods_networks_for_every_case(models, latency_known, sizes_known):
    rule = models.method("classes").rules[latency_known]
    for anchor in models.instances:
        for member in rule.members:
            stack = models.stack(anchor, member, latency_known=latency_known, sizes_known=sizes_known)
            assert set(stack.targets) == set(models.instances) - {anchor}
            assert len(stack.constants) == len(stack.typical_log_ratio) == 3
        assert models.reference(anchor).ndim == 2
    assert models.interval_scales[latency_known].level == 0.9


def test_their_measurements_date_and_base_are_shown(tmp_path, repository):
    assert custom_models(load_models(repository / "models")) is None, "what ships is nobody's own"
    home = make_custom_home(tmp_path / "home")
    for name, day in (("manifest.json", 0), ("calibrated.json", 86_400)):
        os.utime(home / name, (day, day))
    custom = custom_models(load_models(home))
    assert custom.written == "1970-01-02"
    assert custom.base_ships and len(custom.networks) == 15
    assert custom.instances == load_models(repository / "models").instances
    measured = calibrated_gpus(load_models(home))
    assert {name: effects.rows for name, effects in measured.items()} == {FP32_GPU: CELLS, GPU: CELLS}
    # Other models beneath.
    manifest = json.loads((home / "manifest.json").read_text()) | {"seed": 7}
    (home / "manifest.json").write_text(json.dumps({**manifest, "checksum": manifest_checksum(manifest)}))
    assert not custom_models(load_models(home)).base_ships
