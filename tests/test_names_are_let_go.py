"""Layer names of an upload are nowhere in the process once its session is over."""

from __future__ import annotations

import ast
import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from tests.made.chrome_traces import cuda_step, kernel, trace
from tests.test_imports import modules_of

ROOT = Path(__file__).resolve().parents[1]
SECRET = "conv_of_my_network"

#: Finds the secret in the process without having it: it is looked for backwards.
FIND = f"""
import gc
def holders():
    backwards, found = {SECRET[::-1]!r}, []
    gc.collect()
    for holder in gc.get_objects():
        for held in gc.get_referents(holder):
            if isinstance(held, bytes | bytearray):
                held = bytes(held).decode("latin-1")
            if isinstance(held, str) and backwards in held[::-1]:
                found.append((type(holder).__name__, held[:100]))
    return found
"""


@pytest.fixture(scope="module")
def uploads(tmp_path_factory) -> Path:
    """A folder of traces of every sort that name the layer: TensorFlow's, and PyTorch's kernels."""
    folder = tmp_path_factory.mktemp("uploads")
    # As long as what it replaces, for the lengths that protobuf writes.
    for path in sorted((ROOT / "sample_traces" / "formats").iterdir()):
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        named = data.replace(b"secret_net/depthwise_conv2d", SECRET.encode().ljust(27, b"_"))
        if named != data:
            (folder / path.name.removesuffix(".gz")).write_bytes(named)
    events = [event for number in range(3) for event in cuda_step(number, 1000.0 * number)]
    events += [kernel(f"void {SECRET}_kernel<float>", 77, 100.0, 5.0)]
    (folder / "mine.pt.trace.json").write_bytes(trace(events))
    return folder


def child(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_a_process_holds_is_found(uploads):
    code = f"""{FIND}
from pathlib import Path
held = {{"trace": [path.read_bytes() for path in Path({str(uploads)!r}).iterdir()]}}
assert len(holders()) == len(held["trace"]) >= 5, holders()
"""
    child(code)


def test_reading_predicting_and_inspecting_leave_no_name(uploads):
    code = f"""{FIND}
from pathlib import Path
from profet_core import ProfetError, load_catalog, load_models, predict, read_profile
from profet_core.prediction.checks import diagnose
models, catalog, read = load_models(), load_catalog(), 0
def work(path):
    try:
        profile = read_profile(path.read_bytes(), path.name)
        diagnose(profile)
        predict(models, catalog, profile, "g4dn.xlarge")
        predict(models, catalog, profile, "g4dn.xlarge", method="profet")
    except ProfetError:
        pass
for path in Path({str(uploads)!r}).iterdir():
    work(path)
assert holders() == [], holders()
"""
    child(code)


def test_a_session_of_the_app_leaves_no_name(uploads):
    code = f"""{FIND}
from pathlib import Path
from streamlit.testing.v1 import AppTest
def session():
    app = AppTest.from_file("ui/navigation.py", default_timeout=60).run()
    app.segmented_control(key="source").set_value("upload").run()
    files = [(path.name, path.read_bytes(), "application/octet-stream") for path in Path({str(uploads)!r}).iterdir()]
    app.file_uploader[0].set_value(files).run()
    taken = app.session_state["custom_profiles"]
    assert len(taken) >= 2, app.error
    for page in ("compare", "about", "sizes"):
        app.switch_page(f"../pages/{{page}}/{{page}}.py").run()
        assert not app.exception
session()
assert holders() == [], holders()
"""
    child(code)


def test_only_what_is_shipped_is_remembered_for_longer():
    """Functions with arguments whose answers are kept: what a visitor gave may be among the arguments.

    What a function keeps inside it goes with its answer.
    """
    kept, functions = set(), ast.FunctionDef | ast.AsyncFunctionDef
    for part in ("profet_core", "ui", "pages"):
        for path in modules_of(part):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            methods = [inner for outer in tree.body if isinstance(outer, ast.ClassDef) for inner in outer.body]
            for node in (*tree.body, *methods):
                if isinstance(node, functions) and node.args.args:
                    decorators = {ast.unparse(decorator).partition("(")[0] for decorator in node.decorator_list}
                    if decorators & {"cache", "lru_cache", "functools.cache", "functools.lru_cache", "st.cache_data"}:
                        kept.add(f"{path.relative_to(ROOT)}: {node.name}")
    # Their arguments are the models' own class names, types of records, unique names of networks in the table, the
    # code's own, and names in the list of GPUs of who runs the server.
    shipped = {
        "profet_core/catalog/custom_gpus.py": ["_warn_once"],
        "profet_core/catalog/tables.py": ["_numbers_of", "_types_of"],
        "profet_core/layers/by_name.py": ["_known_name"],
        "profet_core/layers/networks.py": ["_counts_of", "_shared"],
        "profet_core/questions.py": ["fields_of", "_values_of"],
        "profet_core/ensemble/work.py": ["_group_sums"],
        "ui/server.py": ["_packed"],
        "ui/streamlit_internals.py": ["_registered"],
        "ui/words.py": ["read_text"],
    }
    assert kept == {f"{path}: {name}" for path, names in shipped.items() for name in names}
