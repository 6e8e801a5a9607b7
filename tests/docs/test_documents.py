"""What the documents name is there: files, headings, modules, make targets, commands with their options and JSON."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from profet_cli.main import build_parser, main
from profet_core import ProfetError, read_profile
from profet_core.profiles import READERS
from tests.docs.recipes import blocks, run, section

ROOT = Path(__file__).resolve().parents[2]
#: A card is generated, the formats' README has a test of its own.
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("tests/*/README.md")])
NAMES = [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]
SAMPLE = "sample_traces/vgg16-224px-b16-g3s.json"
#: Stand for whatever a reader has.
PLACEHOLDERS = {"TRACE": SAMPLE, "DIR": "data", "RUN": "run", "FILE": "file"}
#: Modules that are not ours.
FOREIGN = {"pytest", "pip", "venv"}
#: How each command is called so that its whole JSON is there.
CALLS = {
    "predict": f"predict {SAMPLE} --anchor g3s.xlarge",
    "cost": f"cost {SAMPLE} --anchor g3s.xlarge --images 50000",
    "advise": f"advise {SAMPLE} --anchor g3s.xlarge --images 50000 --deadline-hours 3",
    "scale": "scale --instance p3.2xlarge --axis batch --min-ms 10 --max-ms 100 --at 128",
    "instances": "instances",
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
def test_every_link_leads_somewhere(name):
    targets = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", prose(text_of(name)))
    for target in (markdown or html for markdown, html in targets):
        if target.startswith(("http://", "https://")):
            continue
        path, _, heading = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.exists(), f"{name} links to {target}"
        if heading:
            assert heading in anchors(file.read_text(encoding="utf-8")), f"{name} links to {target}"


@pytest.mark.parametrize("name", NAMES)
def test_every_path_is_there(name):
    roots = {path.name for path in ROOT.iterdir()} - {".venv"}
    for span in spans(text_of(name)):
        found = re.fullmatch(r"[\w.\-]+(?:/[\w.\-]+)*/?", span)
        if found and "/" in span and span.split("/")[0] in roots:
            assert (ROOT / span).exists() or span.startswith("models/"), f"{name} names {span}"


@pytest.mark.parametrize("name", NAMES)
def test_every_module_and_make_target_is_there(name):
    targets = set(re.findall(r"^([a-z]+):", text_of("Makefile"), re.MULTILINE))
    for line in command_lines(text_of(name)):
        for module in re.findall(r"python -m ([\w.]+)", line):
            path = ROOT / module.replace(".", "/")
            known = module in FOREIGN or path.with_suffix(".py").exists() or (path / "__main__.py").exists()
            assert known, f"{name} names {module}"
        for target in re.findall(r"^make ([a-z]+)", line):
            assert target in targets, f"{name} names make {target}"


@pytest.mark.parametrize("name", NAMES)
def test_every_command_line_is_understood(name):
    for line in command_lines(text_of(name)):
        if not line.startswith("profet "):
            continue
        words = [PLACEHOLDERS.get(word, word) for word in shlex.split(line, comments=True)[1:]]
        if line in spans(text_of(name)):
            assert_known(words, f"{name}: {line}")
        else:
            assert_parsed(words, f"{name}: {line}")


def assert_parsed(words: list[str], what: str) -> None:
    own, _, others = " ".join(words).partition(" -- ")
    assert not others or words[0] == "profile", what
    try:
        build_parser().parse_args(shlex.split(own) if words[0] == "profile" else words)
    except (ProfetError, SystemExit) as error:
        pytest.fail(f"{what}: {error}")


def assert_known(words: list[str], what: str) -> None:
    """A command in a sentence may lack arguments, but neither command nor option may be made up."""
    command, *rest = words
    if command == "COMMAND":
        return
    help_text = help_of(command)
    for option in (word for word in rest if word.startswith("--") and word != "--"):
        assert option in help_text, what


def help_of(command: str) -> str:
    actions = next(action for action in build_parser()._actions if action.choices and "predict" in action.choices)
    assert command in actions.choices, f"there is no profet {command}"
    return actions.choices[command].format_help()


def test_every_command_has_its_section():
    commands = re.findall(r"^## profet (\w+)$", text_of("docs/COMMANDS.md"), re.MULTILINE)
    actions = next(action for action in build_parser()._actions if action.choices and "predict" in action.choices)
    assert sorted(commands) == sorted(actions.choices)
    for command in commands:
        assert help_of(command), command


@pytest.mark.parametrize("command", CALLS)
def test_the_json_has_the_keys_that_are_documented(command, capsys, tmp_path):
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
        value = document if where in ("", "[]") else document[where]
        record = value[0] if isinstance(value, list) else value
        assert list(record) == keys, where or command


def key_lists(text: str) -> dict[str, list[str]]:
    """Where ("" for the document itself) -> its keys, of a `keys` block."""
    found: dict[str, str] = {}
    where = ""
    for line in text.splitlines():
        if begins := re.match(r"(\w+|\[\]): ", line):
            where, line = begins[1], line[begins.end() :]
        found[where] = f"{found.get(where, '')} {line}"
    return {name: [key.strip() for key in keys.split(",") if key.strip()] for name, keys in found.items()}


def test_the_readme_s_python_runs(tmp_path, samples):
    (code,) = (block.text for block in blocks(text_of("README.md")) if "readme" in block.options)
    sample = next(sample for sample in samples.values() if sample.anchor == "g3s.xlarge" and sample.batch_size == 16)
    (tmp_path / "profile.json").write_bytes(sample.data)
    (tmp_path / "example.py").write_text(code.replace("latency_ms=122.4", f"latency_ms={sample.latency_ms}"))
    done = run(ROOT, "python example.py", tmp_path)
    assert "g4dn.xlarge" in done.stdout, done.stderr


def test_the_examples_of_profiles_are_read():
    examples = [block for block in blocks(text_of("docs/PROFILES.md")) if "profile" in block.options]
    first, second = (read_profile(block.text.encode()) for block in examples)
    assert first.operations == second.operations
    assert [str(profile.steps) for profile in (first, second)] == [block.options["profile"] for block in examples]
    assert not second.ignored and second.meta.step_latency_ms == 203.295


def test_every_format_is_listed():
    rows = re.findall(r"^\| ([^|]+) \|", section(text_of("docs/PROFILES.md"), "What is read"), re.MULTILINE)
    listed = " ".join(rows).replace("`", "").lower()
    for reader in READERS:
        assert reader.NAME.split(", ")[0].removeprefix("TensorFlow 1 ").split(" ", 1)[-1].lower() in listed, reader.NAME


def test_pictures_are_small_and_of_both_desktops():
    for scheme in ("light", "dark"):
        path = ROOT / "docs" / "images" / f"predict-{scheme}.png"
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG") and len(data) <= 200_000
        assert (int.from_bytes(data[16:20]), int.from_bytes(data[20:24])) == (1280, 800)


def test_the_readme_fits_on_a_screen_and_a_half():
    assert len(text_of("README.md").splitlines()) <= 100


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_a_machine_is_told(name):
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work|Users)/", text_of(name)), name
