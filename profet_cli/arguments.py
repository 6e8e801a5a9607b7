"""Arguments of several commands, and what these read from them: fields, profile, models and measurements."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from profet_core.answers.context import Context
from profet_core.catalog import Gpus, load_catalog, load_gpus
from profet_core.catalog.custom_gpus import CUSTOM_GPUS_NAME, custom_gpus_path, read_custom_gpus
from profet_core.catalog.custom_instances import CUSTOM_NAME
from profet_core.errors import InputError, ProfetError, ProfileError
from profet_core.prediction.checks import read_as
from profet_core.prediction.models import load_models
from profet_core.questions import OFFER_FIELDS, ProfileQuestion, Question, QuestionField, ask, fields_of
from profet_profiles import Profile
from profet_profiles.errors import shown_file_name
from profet_profiles.sandbox import read_guarded
from profet_profiles.whole_files import open_to_read

if TYPE_CHECKING:
    from profet_core.layers.logs import TrainingLog
    from profet_core.layers.network import Network
    from profet_lab.measurements.tables import Measurements


def add_format(parser: argparse.ArgumentParser, default: str = "text") -> None:
    """`--format`; `default` is `argparse.SUPPRESS` where a word before has set it."""
    parser.add_argument(
        "--format", choices=["text", "json"], default=default, help="output format; json prints one document"
    )


def add_question(
    parser: argparse.ArgumentParser, question: type[Struct], *, first: str = "profile", **format_default: str
) -> None:
    """Declare an option for each field of a question, `first` without a name; what isn't given is no attribute."""
    add_format(parser, **format_default)
    offers = parser.add_argument_group("offers")
    for name, field in fields_of(question).items():
        more: dict[str, Any] = {"default": argparse.SUPPRESS, "help": field.help.replace("%", "%%")}
        if field.is_flag:
            more |= {"action": "append_const", "const": "true", "dest": name}
        else:
            more["metavar"] = f"{{{','.join(field.choices)}}}" if field.choices else field.unit or "A,B"
        if name == first:
            parser.add_argument(name, nargs=None if field.required else "?", **more)
            continue
        if field.is_mapping:
            more["action"] = "append"
        group = offers if name in OFFER_FIELDS else parser
        group.add_argument(f"--{name.replace('_', '-')}", required=field.required, **more)


def asked(options: argparse.Namespace, question: type[Question]) -> Question:
    """Make the question of the options that were given, its profiles read."""
    given = {name: getattr(options, name) for name in fields_of(question) if hasattr(options, name)}
    texts = {name: value if isinstance(value, list) else [value] for name, value in given.items()}

    def read(field: QuestionField, paths: list[str], values: Mapping[str, object]) -> object:
        path = paths[-1]
        if field.is_log:
            return read_log_file(Path(path))
        return (_called(path, values) if field.name == "profile" else None) or read_profile_file(path)

    return ask(question, texts, of_texts=True, read=read)


def add_every_offer(parser: argparse.ArgumentParser) -> None:
    """`--every-offer`: the flag that shows what `print_offers` hides."""
    parser.add_argument(
        "--every-offer",
        action="store_true",
        help="show every offer of the market, with machines of several GPUs (default: the cheapest of each GPU, unless "
        "you filter by more than market and confidence)",
    )


def add_steps(parser: argparse.ArgumentParser) -> None:
    """Declare `--steps`: how many training steps TRACE covers."""
    parser.add_argument("--steps", type=int, metavar="N", help=fields_of(ProfileQuestion)["steps"].help)


def add_models(parser: argparse.ArgumentParser) -> None:
    """`--models`: the folder to predict with."""
    parser.add_argument("--models", metavar="DIR", help="models folder (default: PROFET_HOME or the shipped one)")


def add_data(parser: argparse.ArgumentParser, several: str = "") -> None:
    """Declare `--data`: folders of measurements; `several`: help on giving more than one."""
    help_ = f"folder of measurements (default: PROFET_DATA, else data/){several}"
    parser.add_argument("--data", action="append", metavar="DIR", help=help_)


def add_dask(parser: argparse.ArgumentParser) -> None:
    """`--dask`: who does the fits and folds."""
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="run the fits and folds on this Dask scheduler, such as tcp://host:8786"
    )


def add_anchors(parser: argparse.ArgumentParser) -> None:
    """`--anchor`: a choice among the measurements' anchors, which may be given several times."""
    parser.add_argument("--anchor", action="append", metavar="INSTANCE", help="only pairs with this anchor")


#: A file that is read sooner than this shows no progress.
QUIET_S = 1.0


def _called(path: str, values: Mapping[str, object]) -> Profile | None:
    """Return the network without a profile that is meant, where there is no such file."""
    from profet_core.answers.by_layers import network_called

    return None if Path(path).exists() else network_called(path, values)


def read_trace(options: argparse.Namespace) -> Profile:
    """TRACE, read as covering `--steps` steps if that is given."""
    return read_as(read_profile_file(options.trace), getattr(options, "steps", None))


def read_profile_file(path: str) -> Profile:
    """Read a file or a run's folder, streamed; a long one shows on a terminal's stderr how far it is."""
    try:
        with open_to_read(Path(path)) as file:
            return read_guarded(file, Path(path).name, progress=_shown_progress())
    except IsADirectoryError:
        from profet_profiles.reading import read_profile_folder

        return read_profile_folder(Path(path), progress=_shown_progress())
    except OSError as error:
        raise ProfileError(f"{path} can't be read: {error.strerror}.") from None


def read_network_file(path: Path, pixels: int | None) -> Network:
    """Read the network in a file within the limits of an upload."""
    from profet_core.layers.reading import read_network_guarded

    try:
        with open_to_read(path) as file:
            return read_network_guarded(file, path.name, pixels)
    except OSError as error:
        raise InputError(f"{path.name} can't be read: {error.strerror}.") from None


def read_log_file(path: Path) -> TrainingLog:
    """Read the log in a file within the limits of an upload."""
    from profet_core.layers.logs import read_log_guarded

    try:
        with open_to_read(path) as file:
            return read_log_guarded(file, path.name)
    except OSError as error:
        raise InputError(f"{path.name} can't be read: {error.strerror}.") from None


#: Endings of files, which no network's name has; and of trained weights by name (yolov8n.pt), in a folder a file's.
_FILE_ENDINGS, _WEIGHTS_ENDINGS = (".keras", ".onnx", ".csv", ".json", ".h5", ".pb", ".gz", ".zip"), (".pt", ".pth")


def network_file(network: str) -> Path | None:
    """Return the network's file; None: this is a name, not a path."""
    path = Path(network)
    with suppress(OSError):
        if path.is_file():
            return path
    ending = path.suffix.lower()
    if ending in _FILE_ENDINGS or (ending in _WEIGHTS_ENDINGS and len(path.parts) > 1):
        raise InputError(f"{shown_file_name(path.name)} not found.")
    return None


def _shown_progress() -> Callable[[float], None] | None:
    if not sys.stderr.isatty():
        return None
    start = time.monotonic()

    def show(share: float) -> None:
        if time.monotonic() - start > QUIET_S:
            print(f"\rreading {share:4.0%}", end="\r" if share < 1 else "\r            \r", file=sys.stderr, flush=True)

    return show


def known_gpus() -> Gpus:
    """Return the GPUs with specs, the user's after them."""
    shipped = load_gpus()
    return shipped.with_custom(row.gpu for row in read_custom_gpus(custom_gpus_path(), shipped))


def open_context(options: argparse.Namespace) -> Context:
    """Models, and the catalog with the user's instances and GPUs; lists in the `--models` folder come first."""
    gpus, catalog = load_gpus(), load_catalog(own=_in_folder(options, CUSTOM_NAME))
    custom = read_custom_gpus(_in_folder(options, CUSTOM_GPUS_NAME) or custom_gpus_path(), gpus)
    return Context(load_models(options.models), catalog, gpus).with_custom_gpus(custom)


def _in_folder(options: argparse.Namespace, name: str) -> Path | None:
    path = Path(options.models or "") / name
    return path if options.models and path.is_file() else None


@contextmanager
def training_set() -> Iterator[None]:
    """Around imports of `profet_lab`: where one of its libraries is missing, one line says how to install them."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ProfetError(
            f"This command needs the training set ({error.name} is missing): pip install -r requirements.txt"
        ) from None


def open_measurements(options: argparse.Namespace) -> tuple[Measurements, Path]:
    """Open the measurements that `--data` names, PROFET's tables or a folder of the data layout; and their folder."""
    with training_set():
        from profet_lab.dataset import measurements_from_dataset
        from profet_lab.dataset_files import is_dataset, read_dataset
        from profet_lab.measurements.tables import data_folder, load_measurements
    if options.data and is_dataset(Path(options.data)):
        return measurements_from_dataset(read_dataset(Path(options.data))), Path(options.data)
    folder = data_folder(options.data)
    return load_measurements(folder), folder


def on_dask(run: Callable[[argparse.Namespace], None]) -> Callable[[argparse.Namespace], None]:
    """Wrap a command's `run`: the cluster that `--dask` names does its fits and folds; without it this process."""

    @wraps(run)
    def run_there(options: argparse.Namespace) -> None:
        if options.dask is None:
            run(options)
            return
        with training_set():
            import distributed  # noqa: F401, missed here and not in the middle

            from profet_lab.tasks import on_cluster
        with on_cluster(options.dask):
            run(options)

    return run_there


@contextmanager
def validation_progress() -> Iterator[Callable[[int], object]]:
    """Show a bar on a terminal's stderr; call what is yielded with the number of steps done since."""
    with training_set():
        from tqdm import tqdm
    with tqdm(desc="validate", unit="step", disable=None) as bar:
        yield bar.update
