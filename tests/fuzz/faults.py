"""Faults of a machine: a program killed, a disk full, a file damaged; after each, what was there is there."""

from __future__ import annotations

import io
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import REPOSITORY
from profet_cli.commands.instances.published_prices import SOURCE_PREFIX
from profet_cli.main import main as profet
from profet_core import ArtifactError, load_models
from profet_core.accuracy.cells import CELLS_REPORT_NAME, load_cells_rows
from profet_core.catalog import load_shipped
from profet_core.catalog.own import read_own
from profet_core.profiles import read_profile

SAMPLE = REPOSITORY / "sample_traces" / "vgg16-224px-b16-g3s.json"
ANCHOR = "g3s.xlarge"
#: Rows of the own file that no change touches.
KEPT = {f"kept.{number}": 1.0 + number for number in range(3)}
#: Longer than a change of these takes, at rest; and than its writing takes.
KILL_WITHIN_S, WRITING_S = 1.5, 0.03
LIMIT_S = 120

_MAIN = "import sys; from profet_cli.main import main; sys.exit(main())"
#: `refresh` with a list of prices that needs no network.
_REFRESH = """
import sys
from profet_cli.commands.instances import refresh
from profet_core.catalog.refresh import PublishedPrice
refresh.published_prices = lambda *asked: PRICES
from profet_cli.main import main
sys.exit(main())
"""
_SWAP = """
import shutil, sys
from pathlib import Path
from profet_lab.models_folder import new_models_folder
with new_models_folder(Path(sys.argv[2])) as folder:
    shutil.copytree(sys.argv[1], folder, dirs_exist_ok=True)
"""


class LossError(AssertionError):
    """Something that was there is lost, wrong, or left lying about."""


def check(true: bool, *what: object) -> None:
    """Raise `LossError` unless `true`."""
    if not true:
        raise LossError(" ".join(map(str, what)))


@dataclass(frozen=True, slots=True)
class Change:
    """A command that changes a file.

    Attributes
    ----------
    code, arguments : what a fresh interpreter runs.
    file : what it changes. state : what is there, in a form that can be compared.
    """

    name: str
    code: str
    arguments: tuple[str, ...]
    file: Path
    state: Callable[[], object]


@dataclass(slots=True)
class World:
    """A folder with everything that may be damaged: models, an own file and a converted profile."""

    folder: Path
    chance: random.Random
    came_of: Counter[str] = field(default_factory=Counter)
    adds: int = 0

    @property
    def models(self) -> Path:
        """The models that are served."""
        return self.folder / "served" / "models"

    @property
    def own(self) -> Path:
        """The own file."""
        return self.folder / "own" / "instances.csv"

    @property
    def profile(self) -> Path:
        """What `convert` writes."""
        return self.folder / "out" / "profile.json"

    @property
    def environment(self) -> dict[str, str]:
        """Of every program: these files, and nobody else's."""
        return {
            **os.environ,
            "PROFET_HOME": str(self.models),
            "PROFET_INSTANCES": str(self.own),
            "PYTHONPATH": str(REPOSITORY),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def build(self) -> World:
        """Make it, sound."""
        self.models.parent.mkdir()
        shutil.copytree(REPOSITORY / "models", self.models)
        self.profile.parent.mkdir()
        self.profile.write_bytes(SAMPLE.read_bytes())
        os.environ.update(self.environment)
        for name, price in KEPT.items():
            check(self.ask("instances", "add", name, "--gpu", "L4", "--usd-per-hour", str(price))[0] == 0, "no add")
        return self

    def ask(self, *arguments: str) -> tuple[int, str, str]:
        """Exit status, stdout and stderr of a command in this process."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = profet(arguments)
        return status, out.getvalue(), err.getvalue()

    def rows(self) -> dict[str, float]:
        """The own file: instance -> price."""
        return {row.name: row.usd_per_hour for row in read_own(self.own, load_shipped())}

    def changes(self) -> list[Change]:
        """One of each command that writes, with a new row or size."""
        self.adds += 1
        name, batch = f"new.{self.adds}", str(self.adds)
        removable = sorted(self.rows().keys() - KEPT.keys()) or [name]
        return [
            Change("add", _MAIN, ("instances", "add", name, "--gpu", "L4", "--usd-per-hour", "2"), self.own, self.rows),
            Change("remove", _MAIN, ("instances", "remove", removable[0]), self.own, self.rows),
            Change("refresh", _refresh_code(self.adds), ("instances", "refresh"), self.own, self.rows),
            Change(
                "convert",
                _MAIN,
                ("convert", str(SAMPLE), "-o", str(self.profile), "--force", "--batch-size", batch),
                self.profile,
                lambda: read_profile(self.profile.read_bytes()).meta.batch_size,
            ),
            Change(
                "train's swap", _SWAP, (str(REPOSITORY / "models"), str(self.models)), self.models, self.whole_models
            ),
        ]

    def whole_models(self) -> str:
        """The checksum of the models that are served, whole."""
        models = load_models(self.models)
        models.verify()
        return models.manifest["checksum"]

    def check_whole(self) -> None:
        """What no fault may take away is there."""
        rows = self.rows()
        check(all(rows.get(name) == price for name, price in KEPT.items()), "own rows are lost:", rows)
        self.whole_models()
        check(read_profile(self.profile.read_bytes()).operations != {}, "the profile is lost")

    def check_tidy(self) -> None:
        """Nothing is left beside the files."""
        for file in (self.own, self.profile, self.models):
            found = [path.name for path in file.parent.iterdir()]
            check(found == [file.name], "left lying about:", found)


def _refresh_code(number: int) -> str:
    price = round(0.5 + 0.001 * number, 4)
    offer = f"PublishedPrice('g4dn.xlarge', 1, 'us-east-1', 'on-demand', {price}, '2026-11', '{SOURCE_PREFIX} aws')"
    return _REFRESH.replace("PRICES", f"[{offer}]")


def kill(world: World) -> str:
    """Kill a command at a random moment, every other time while it writes; then run it to its end."""
    change = world.chance.choice(world.changes())
    before = change.state()
    process = _start(world, change)
    writing = world.chance.random() < 0.5
    if writing:
        _until_it_writes(process, change.file)
    time.sleep(world.chance.uniform(0, WRITING_S if writing else KILL_WITHIN_S))
    process.kill()
    process.communicate(timeout=LIMIT_S)
    left = "something" if len(list(change.file.parent.iterdir())) > 1 else "nothing"
    world.check_whole()
    moved = change.state() != before
    again = _start(world, change)
    err = again.communicate(timeout=LIMIT_S)[1]
    # A row that is gone already can't be removed once more.
    check(again.returncode == 0 or change.name == "remove", change.name, again.returncode, err)
    world.check_whole()
    if again.returncode == 0:
        world.check_tidy()
    return f"killed: {change.name}, {'done' if moved else 'as before'}, {left} left until the next"


def _until_it_writes(process: subprocess.Popen, file: Path) -> None:
    while process.poll() is None and len(list(file.parent.iterdir())) < 2:
        time.sleep(0.0005)


def full_disk(world: World) -> str:
    """Let a command write a few bytes a file and no more."""
    change = world.chance.choice(world.changes())
    before, limit = change.state(), world.chance.choice([0, 1, world.chance.randrange(60)])
    process = _start(world, change, bytes_a_file=limit)
    out, err = process.communicate(timeout=LIMIT_S)
    if change.name == "train's swap":
        check("is as it was, for writing failed" in err.splitlines()[-1], err)
    else:
        check(process.returncode in (1, 2), change.name, process.returncode, err)
        check(err.startswith("profet: ") and err.count("\n") == 1 and not out, change.name, out, err)
    check(change.state() == before, change.name, "changed something on a full disk")
    world.check_whole()
    world.check_tidy()
    return f"full disk: {change.name}"


def damage(world: World) -> str:
    """Damage a file of the models: answers stay what they were, or one line says what to do."""
    files = sorted(path for path in world.models.rglob("*") if path.is_file() and _is_served(path))
    path = world.chance.choice(files)
    how, sound = world.chance.choice(list(_DAMAGES)), path.read_bytes()
    questions = _questions(world)
    expected = {name: ask() for name, ask in questions.items()}
    _DAMAGES[how](path, world.chance)
    try:
        said = {name: ask() for name, ask in questions.items()}
    finally:
        _restore(path, sound)
    told = [name for name in said if said[name] != expected[name]]
    for name in told:
        check(_is_one_line(said[name]), path.name, how, name, said[name])
    check(bool(told), path.relative_to(world.models), how, "is not said")
    return f"damaged: {how}"


def _is_served(path: Path) -> bool:
    """Whether it is read to answer; of the reports one alone is."""
    is_report = path.name.endswith("validation.json") or path.name == "real_profiles.json"
    return path.suffix != ".md" and (not is_report or path.name == CELLS_REPORT_NAME)


def damage_own(world: World) -> str:
    """Damage the own file: a row that is cut is said, whole ones count as they were."""
    how, sound, rows = world.chance.choice(["cut short", "a bit", "a folder"]), world.own.read_bytes(), world.rows()
    _DAMAGES[how](world.own, world.chance) if how != "a folder" else _to_folder(world.own)
    try:
        status, out, err = world.ask("instances", "--format", "json")
        changed = world.ask("instances", "add", "kept.0", "--usd-per-hour", "9")
        if status == 2:
            check(changed[0] == 2, "a damaged file was written over")
    finally:
        _restore(world.own, sound)
    check(status == 0 or _is_one_line((status, out, err)), how, status, err)
    if status == 0 and how == "cut short":
        left = {row["name"]: row["usd_per_hour"] for row in json.loads(out) if row["own"]}
        check(left.items() <= rows.items(), "a cut row was taken for another:", left)
    world.check_whole()
    world.check_tidy()
    return f"own file: {how}, {'said' if status else 'read'}"


def _start(world: World, change: Change, bytes_a_file: int | None = None) -> subprocess.Popen:
    def limit() -> None:
        if bytes_a_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_a_file, bytes_a_file))

    return subprocess.Popen(
        [sys.executable, "-c", change.code, *change.arguments],
        env=world.environment,
        cwd=world.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit,
    )


def _questions(world: World) -> Mapping[str, Callable[[], object]]:
    """What a folder of models is asked: an answer of the command line, or what a report says."""

    def served() -> object:
        return world.whole_models()

    def report(load: Callable[[], object]) -> Callable[[], object]:
        def read() -> object:
            try:
                return load()
            except ArtifactError as error:
                return 2, "", f"profet: {error}\n"

        return read

    known = (str(SAMPLE), "--anchor", ANCHOR, "--format", "json")
    return {
        "predict": lambda: world.ask("predict", *known),
        "documented": lambda: world.ask("predict", *known, "--method", "profet"),
        "app": report(served),
        CELLS_REPORT_NAME: report(lambda: load_cells_rows(world.models)),
    }


def _is_one_line(answer: object) -> bool:
    status, out, err = answer if isinstance(answer, tuple) else (0, "", "")
    return status == 2 and not out and err.startswith("profet: ") and err.count("\n") == 1 and err[:-1].isprintable()


def _flip(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(bytes(data))


def _cut(path: Path, chance: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: chance.randrange(path.stat().st_size - 1)])


def _to_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


_DAMAGES: Mapping[str, Callable[[Path, random.Random], object]] = {
    "a bit": _flip,
    "cut short": _cut,
    "gone": lambda path, _: path.unlink(),
    "a folder": lambda path, _: _to_folder(path),
}


def _restore(path: Path, sound: bytes) -> None:
    if path.is_dir():
        path.rmdir()
    path.write_bytes(sound)


FAULTS = (kill, kill, full_disk, damage, damage_own)


def run(count: int, seed: int, folder: Path) -> Counter[str]:
    """Make `count` faults; returns what came of them.

    Raises
    ------
    LossError : something was lost, wrong, or left lying about.
    """
    before = dict(os.environ)
    world = World(folder, random.Random(seed)).build()
    try:
        for number in range(count):
            world.came_of[FAULTS[number % len(FAULTS)](world)] += 1
    finally:
        os.environ.clear()
        os.environ.update(before)
    return world.came_of
