"""The Dockerfile copies what serving needs, and `.dockerignore` lets it through: no image is built for these tests."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_imports import PAGES, imported, modules_of

ROOT = Path(__file__).resolve().parents[1]
NOT_IN_THE_IMAGE = shutil.ignore_patterns("__pycache__")


@pytest.fixture(scope="module")
def copied() -> list[str]:
    """What the Dockerfile copies, as it is named there."""
    lines = [line.split()[1:] for line in (ROOT / "Dockerfile").read_text().splitlines() if line.startswith("COPY ")]
    return [source for *sources, _ in lines for source in sources]


def packages_of_serving() -> set[str]:
    """The project's packages that the app imports, directly or through others of them."""
    ours = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {"pages"}
    # The app names its navigation and its pages as files.
    packages, todo = set(), {"ui", "pages"}
    while todo:
        packages |= todo
        todo = {name for part in todo for path in modules_of(part) for name in imported(path)} & ours - packages
    return packages


def test_every_package_that_serving_imports_is_copied_and_let_through(copied):
    needed = packages_of_serving()
    assert {"ui", "pages", "profet_core"} <= needed
    assert needed <= set(copied)
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignore[0] == "*"
    assert {line[1:] for line in ignore if line.startswith("!")} == set(copied)
    assert all((ROOT / name).exists() for name in copied)


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile, line by line: an instruction and the rest."""
    text = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text())
    return [tuple(line.split(maxsplit=1)) for line in text.splitlines() if line and not line.startswith("#")]


def test_the_image_is_made_of_what_is_pinned_and_runs_as_nobody():
    (base,) = (rest for name, rest in instructions() if name == "FROM")
    assert re.fullmatch(r"python:3\.1[1-3]-slim@sha256:[0-9a-f]{64}", base)
    (install,) = (rest for name, rest in instructions() if name == "RUN" and "pip install" in rest)
    assert "--require-hashes" in install and "-r requirements-serve.txt" in install
    for lock in ("requirements-serve.txt", "requirements.txt"):
        pins = re.split(r"\n(?=\S)", (ROOT / lock).read_text().strip())
        assert len(pins) > 30
        for pin in pins:
            assert re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+ ", pin) and "--hash=sha256:" in pin, pin
    names = [name for name, _ in instructions()]
    by_name = dict(instructions())
    assert by_name["USER"] == "10001:10001"
    assert not {"COPY", "RUN", "ADD"} & set(names[names.index("USER") :]), "what it serves is not its own to change"
    assert "/v1/health" in by_name["HEALTHCHECK"]
    assert "STREAMLIT_BROWSER_GATHER_USAGE_STATS=false" in by_name["ENV"]


def test_the_compose_file_takes_away_what_is_not_needed():
    compose = (ROOT / "compose.yaml").read_text()
    served, proxy = compose.split("services:")[0], compose.split("  proxy:")[1]
    for part in (served, proxy):
        assert "read_only: true" in part and "cap_drop: [ALL]" in part and "no-new-privileges:true" in part
        assert "pids_limit" in part and "mem_limit" in part
    assert "networks: [inside]" in served and "inside: { internal: true }" in compose
    assert compose.count("ports:") == 1 and "ports:" in proxy, "only the proxy is reached from outside"
    assert re.search(r"image: \S+@sha256:[0-9a-f]{64}", proxy)
    # Every name that the proxy's configuration takes is given.
    wanted = set(re.findall(r"\$\{(PROFET_\w+)\}", (ROOT / "deploy" / "profet.conf.template").read_text()))
    assert wanted == set(re.findall(r"^      (PROFET_\w+):", proxy, re.MULTILINE))


#: In a mount and network namespace of its own: everything is read-only but a new /tmp, and no network leads out.
#: What is served and the environment are mounted elsewhere first, for they may lie below the old one.
CONFINE = """
mount --make-rprivate / && mount --bind "$1" /mnt && mount --bind "$2" /media &&
mount -t tmpfs -o mode=1777,noexec,nosuid,nodev tmpfs /tmp &&
mount -o remount,ro,bind /mnt && mount -o remount,ro,bind /media && mount -o remount,ro,bind / && cd /mnt &&
python=/media/bin/python && "$python" -c "$3" && given="$4" && shift 4 &&
exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all env -i PATH="$PATH" $given "$python" -c "$@"
"""
#: Starts the loopback interface, which a new network namespace has off.
LOOPBACK = """
import fcntl, socket, struct
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 1).ljust(40, b"\\0"))
"""
#: Starts what the image starts, and asks it as its health check does; says what it left in /tmp.
TRY = """
import json, os, subprocess, sys, time, urllib.request as r
for path in ("/etc/x", "/mnt/x", "models/x"):
    try:
        open(path, "w")
    except OSError:
        continue
    raise SystemExit(f"{path} can be written")
command = [sys.executable, *sys.argv[1:]]
server = subprocess.Popen(command)
for _ in range(600):
    try:
        health = json.load(r.urlopen("http://127.0.0.1:8599/v1/health", timeout=60))
        break
    except OSError:
        assert server.poll() is None
        time.sleep(0.1)
assert health["status"] == "ok", health
body = json.dumps({"profile": json.load(open("sample_traces/vgg16-224px-b16-g3s.json")), "anchor": "g3s.xlarge"})
request = r.Request("http://127.0.0.1:8599/v1/predict", body.encode(), {"Content-Type": "application/json"})
rows = json.load(r.urlopen(request, timeout=60))["predictions"]
page = r.urlopen("http://127.0.0.1:8599/", timeout=60) if "app" in command else None
server.terminate()
server.wait(30)
print(json.dumps({"rows": len(rows), "left": sorted(os.listdir("/tmp"))}))
"""


@pytest.mark.parametrize(
    "command",
    [["-m", "profet_cli", "app", "--port", "8599"], ["-m", "profet_cli", "serve", "--port", "8599", "--workers", "2"]],
)
def test_what_is_copied_serves_read_only_without_rights_or_a_network(command, copied, tmp_path):
    confine = ["unshare", "--mount", "--net", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*confine, "true"], capture_output=True).returncode:
        pytest.skip("no namespaces of its own can be made here: that takes root")
    copy_all(copied, tmp_path)
    done = subprocess.run(
        [*confine, CONFINE, "sh", str(tmp_path), sys.prefix, LOOPBACK, dict(instructions())["ENV"], TRY, *command],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answered = json.loads(done.stdout.splitlines()[-1])
    assert answered["rows"] > 4 and answered["left"] == []


def copy_all(copied: list[str], folder: Path) -> None:
    for name in copied:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=NOT_IN_THE_IMAGE)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def test_every_page_opens_with_nothing_but_what_is_copied(copied, tmp_path):
    copy_all(copied, tmp_path)
    code = f"""
import sys
from pathlib import Path
sys.path = [path for path in sys.path if not (Path(path) / "streamlit_app.py").exists()]
sys.path.insert(0, {str(tmp_path)!r})
from streamlit.testing.v1 import AppTest
for name in {sorted(page.name for page in PAGES)!r}:
    app = AppTest.from_file({str(tmp_path / "ui" / "navigation.py")!r}, default_timeout=60)
    app.switch_page(f"../pages/{{name}}/{{name}}.py").run()
    assert len(app.title) == 1 and not app.exception, (name, app.exception)
    assert not app.error, (name, app.error)
import profet_core, ui
assert all(Path(part.__file__).is_relative_to({str(tmp_path)!r}) for part in (profet_core, ui))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
