"""What the documents name is there: files, headings, modules, make targets, commands with their options and JSON."""

from __future__ import annotations

import io
import json
import re
import shlex
from contextlib import redirect_stdout
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

from profet_cli.main import main
from profet_core import predict, read_profile
from profet_core.catalog import load_gpus
from profet_core.catalog.custom_gpus import custom_gpu_from, custom_gpus_text
from profet_core.questions import COST_FIELDS
from profet_profiles import READERS, ProfileMeta
from tests.docs.recipes import blocks, section
from ui.session import LINKED

ROOT = Path(__file__).resolve().parents[2]
#: A card is generated, the formats' README has a test of its own.
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("tests/*/README.md")])
NAMES = [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]
SAMPLE = "sample_traces/vgg16-224px-b16-g3s.json"
#: Modules that are not ours.
FOREIGN = {"pytest", "pip", "venv"}
#: How each command is called so that its whole JSON is there.
CALLS = {
    "estimate": f"estimate VGG16 --batch 16 --profile {SAMPLE} --anchor g3s.xlarge --targets g4dn.xlarge,A2",
    "predict": f"predict {SAMPLE} --anchor g3s.xlarge --targets g4dn.xlarge,A2",
    "cost": f"cost {SAMPLE} --anchor g3s.xlarge --images 50000",
    # Of one cloud: where one offer is the cheapest and the fastest, no list of upgrades has an entry.
    "advise": f"advise {SAMPLE} --anchor g3s.xlarge --images 50000 --deadline-hours 3 --compare g4dn.xlarge,g5.xlarge "
    "--provider aws --any-batch",
    "scaleout": f"scaleout {SAMPLE} --anchor g3s.xlarge --network VGG16 --instance p3.16xlarge --gpus 1,8",
    "scale": "scale --instance p3.2xlarge --axis batch --min-ms 10 --max-ms 100 --at 128",
    "manycore": "manycore medium",
    "instances": "instances",
    "gpus": "gpus",
    "inspect": f"inspect {SAMPLE}",
    "convert": f"convert {SAMPLE} -o FILE",
}


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def prose(text: str) -> str:
    """Without the fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def spans(text: str) -> list[str]:
    """What stands in backticks, a line break in it as a space."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose(text))]


def command_lines(text: str) -> list[str]:
    """Every command of a document: lines of `sh` blocks, and what stands in backticks and begins as one."""
    lines = [line for block in blocks(text) if block.language in ("sh", "console") for line in block.text.splitlines()]
    lines += [span for span in spans(text) if span.startswith(("profet ", "python -m ", "make "))]
    return [line for line in lines if line.strip()]


def anchors(text: str) -> set[str]:
    """How headings are linked to."""
    titles = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_document_names_is_there_and_nothing_of_a_machine_is_told(name):
    targets = re.findall(r"\]\(([^)\s]+)\)|(?:src|href|srcset)=\"([^\"]+)\"", prose(text_of(name)))
    for target in (markdown or html for markdown, html in targets):
        if target.startswith(("http://", "https://")):
            continue
        path, _, heading = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.exists(), f"{name} links to {target}"
        if heading:
            assert heading in anchors(file.read_text(encoding="utf-8")), f"{name} links to {target}"
    # Not what the documented commands write here.
    roots = {path.name for path in ROOT.iterdir()} - {".venv", "collected", "measured"}
    for span in spans(text_of(name)):
        path = re.fullmatch(r"[\w.\-]+(?:/[\w.\-]+)*/?", span)
        if path and "/" in span and span.split("/")[0] in roots and "NAME" not in span:
            assert (ROOT / span).exists() or span.startswith("models/"), f"{name} names {span}"
    made = set(re.findall(r"^([a-z]+):", text_of("Makefile"), re.MULTILINE))
    for line in command_lines(text_of(name)):
        for module in re.findall(r"python -m ([\w.]+)", line):
            path = ROOT / module.replace(".", "/")
            ours = path.with_suffix(".py").exists() or (path / "__main__.py").exists()
            assert ours or module in FOREIGN, f"{name} names {module}"
        for target in re.findall(r"^make ([a-z]+)", line):
            assert target in made, f"{name} names make {target}"
        command, _, script = line.partition(" -- ")
        words = shlex.split(command, comments=True)
        if words[0] != "profet" or words[1:2] == ["COMMAND"]:
            continue
        assert not script or words[1] == "profile", f"{name}: {line}"
        known = help_of(*(word for word in words[1:3] if re.fullmatch("[a-z]+", word)))
        for option in (word for word in words if word.startswith("-")):
            assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", known), f"{name}: {line}: {option}"
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work|Users)/", text_of(name)), name


def test_a_commit_is_checked_by_what_make_lint_runs():
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", text_of("Makefile"), re.MULTILINE)[1]
    hooks = re.findall(r"^ +entry: (.+)$", text_of(".pre-commit-config.yaml"), re.MULTILINE)
    assert hooks == [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]


@cache
def help_of(*command: str) -> str:
    """What `profet COMMAND --help` prints; fails where there is no such command."""
    printed = io.StringIO()
    with redirect_stdout(printed), pytest.raises(SystemExit) as done:
        assert main([*command, "--help"]) == 0, f"there is no profet {' '.join(command)}"
    assert done.value.code == 0
    return printed.getvalue()


def test_every_command_has_its_section_and_every_setting_of_a_link_is_documented():
    documented = re.findall(r"^## profet (\w+)$", text_of("docs/COMMANDS.md"), re.MULTILINE)
    assert sorted(documented) == sorted(re.findall(r"^    (\w+)(?: |$)", help_of(), re.MULTILINE))
    # Costs beside the steps are the options of `profet advise`.
    keys = [f"{key}_*" if one.is_mapping else key for key, one in LINKED.items() if key not in COST_FIELDS]
    rows = re.findall(r"^\| (`.+?) \|", section(text_of("docs/APP.md"), "Settings in a link"), re.MULTILINE)
    listed_keys = [key for row in rows for key in re.findall(r"`([^`]+)`", row)]
    assert sorted(listed_keys) == sorted(keys)


@pytest.mark.parametrize("command", CALLS)
def test_the_json_has_the_keys_that_are_documented(command, capsys, tmp_path, monkeypatch):
    own = tmp_path / "gpus.csv"
    own.write_text(custom_gpus_text([custom_gpu_from({"gpu": "Lab card", "like": "A40"}, load_gpus())]))
    monkeypatch.setenv("PROFET_GPUS", str(own))
    (documented,) = (
        block.text
        for block in blocks(section(text_of("docs/COMMANDS.md"), f"profet {command}"))
        if block.language == "keys" and command in block.options
    )
    arguments = [str(tmp_path / "p.json") if word == "FILE" else word for word in CALLS[command].split()]
    arguments = [str(ROOT / word) if word == SAMPLE else word for word in arguments]
    assert main([*arguments, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    for where, keys in key_lists(documented).items():
        value = document if where in ("", "[]") else document[where.removesuffix(".*")]
        record = next(iter(value.values())) if where.endswith(".*") else value[0] if isinstance(value, list) else value
        assert list(record) == keys, where or command


def key_lists(text: str) -> dict[str, list[str]]:
    """Where ("" for the document itself) -> its keys, of a `keys` block."""
    listed: dict[str, str] = {}
    where = ""
    for line in text.splitlines():
        if begins := re.match(r"([\w.*]+|\[\]): ", line):
            where, line = begins[1], line[begins.end() :]
        listed[where] = f"{listed.get(where, '')} {line}"
    return {name: [key.strip() for key in keys.split(",") if key.strip()] for name, keys in listed.items()}


def test_the_examples_of_profiles_are_read_and_predicted_from(models, catalog, samples):
    examples = [block for block in blocks(text_of("docs/PROFILES.md")) if "profile" in block.options]
    first, second = (read_profile(block.text.encode()) for block in examples)
    assert first.operations == second.operations
    assert [str(profile.steps) for profile in (first, second)] == [block.options["profile"] for block in examples]
    assert not second.ignored and second.meta.step_latency_ms == 203.295
    sample = samples["resnet50-128px-b64-g4dn"]
    for profile in (first, second):
        prediction = predict(models, catalog, profile, sample.anchor, latency_ms=sample.latency_ms).latencies_ms
        assert prediction["g3s.xlarge"] == pytest.approx(sample.measured_ms["g3s.xlarge"], rel=0.15)


def test_every_field_of_meta_is_documented_and_every_format_listed():
    contract = section(text_of("docs/PROFILES.md"), "PROFET JSON")
    for field in fields(ProfileMeta):
        assert f'"{field.name}"' in contract or f"`{field.name}`" in contract, field.name
    rows = re.findall(r"^\| ([^|]+) \|", section(text_of("docs/PROFILES.md"), "Supported formats"), re.MULTILINE)
    listed = " ".join(rows).replace("`", "").lower()
    for reader in READERS:
        assert reader.name.split(", ")[0].split(" ", 1)[-1].lower() in listed, reader.name


def test_the_packages_listed_are_those_that_exist():
    """Each package of the core has a line; those of the others are named in one."""
    rows = re.findall(r"^- `([\w/]+)/`:.*?(?: \[(.+)\])?$", text_of("docs/ARCHITECTURE.md"), re.MULTILINE)
    listed = {f"{name}/{inner}" for name, inside in rows for inner in inside.split(", ") if inner}
    listed |= {name for name, _ in rows}
    tops = [path for path in ROOT.iterdir() if path.name.startswith("profet_") or path.name in ("ui", "pages")]
    folders = [*tops, *(folder for top in tops for folder in top.rglob("*") if any(folder.glob("*.py")))]
    assert listed == {folder.relative_to(ROOT).as_posix() for folder in folders}


def test_pictures_are_small_and_of_both_desktops():
    for scheme in ("light", "dark"):
        path = ROOT / "docs" / "images" / f"predict-{scheme}.png"
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG") and len(data) <= 200_000
        assert (int.from_bytes(data[16:20]), int.from_bytes(data[20:24])) == (1440, 900)


def test_every_value_of_a_link_s_setting_is_documented():
    rows = re.findall(r"^\| (`.+?`) \| (.+)$", section(text_of("docs/APP.md"), "Settings in a link"), re.MULTILINE)
    values = {key: words for keys, words in rows for key in re.findall(r"`([^`]+)`", keys)}
    # Bands are described, and instances are the reader's to know.
    for key in LINKED.keys() - {"interruptions", "scaler_instance", "manycore_network", "second_source"}:
        missing = [value for value in LINKED[key].options if f"`{value}`" not in values[key]]
        assert not missing, (key, missing)


@pytest.mark.parametrize("name, most", [("README.md", 700), ("docs/ARCHITECTURE.md", 1500)])
def test_a_reader_finds_the_way_in_few_words(name, most):
    assert len(text_of(name).split()) <= most
