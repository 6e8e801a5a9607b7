#!/bin/sh
# Builds the source distribution and both wheels into dist/, and tries them in empty environments of every Python named.
# Exit status 3: one of those Pythons is not here.
set -eu
cd "$(dirname "$0")/.."
rm -rf dist
.venv/tools/bin/python -m build --outdir dist .
.venv/tools/bin/python -m build --outdir dist --wheel profet_recorder
app=$(ls "$PWD"/dist/profet_app-*.whl) recorder=$(ls "$PWD"/dist/profet_recorder-*.whl) source=$(ls "$PWD"/dist/*.tar.gz)

trial=$(mktemp -d) server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$trial"' EXIT
cd "$trial"
export HOME="$trial" PROFET_INSTANCES= PROFET_GPUS=
echo 'print("trained")' > train.py

# in_empty PYTHON PACKAGE...: an environment with these alone, in this order.
in_empty() {
  rm -rf venv
  "$1" -m venv venv
  shift
  for package; do venv/bin/python -m pip install --quiet --disable-pip-version-check "$package"; done
}

# What whoever installs the app does first, on what is installed.
try_app() {
  venv/bin/profet-record --version
  venv/bin/profet --version
  shipped=$(venv/bin/python -c 'import profet_core, pathlib; print(pathlib.Path(profet_core.__file__).parent / "shipped")')
  sample=$shipped/sample_traces/vgg16-224px-b16-g3s.json
  venv/bin/profet predict "$sample" --anchor g3s.xlarge | grep -q "g4dn.xlarge"
  venv/bin/profet estimate resnet50 --batch 64 | grep -q "g4dn.xlarge"
  port=$(venv/bin/python -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
  for command in serve app; do
    venv/bin/profet "$command" --port "$port" & server=$!
    venv/bin/python -c "
import json, time, urllib.request as r
body = json.dumps({'profile': json.load(open('$sample')), 'anchor': 'g3s.xlarge'}).encode()
request = r.Request('http://127.0.0.1:$port/v1/predict', body, {'Content-Type': 'application/json'})
for _ in range(240):
    try:
        rows = json.load(r.urlopen(request))['predictions']
        break
    except OSError:
        time.sleep(0.5)
assert {row['basis'] for row in rows} >= {'given', 'measured', 'transferred'}, rows
"
    kill "$server"; wait "$server" || true; server=
  done
  PYTHONPATH=$shipped venv/bin/python -c "
from streamlit.testing.v1 import AppTest
page = AppTest.from_file('$shipped/ui/navigation.py', default_timeout=120).run()
assert page.title and not page.exception and not page.error, page
" 2> output.txt || { cat output.txt; return 1; }
}

missing=
for python; do
  "$python" --version || { missing="$missing $python"; continue; }
  in_empty "$python" "$recorder"
  venv/bin/profet-record train.py 2>&1 | tee output.txt | grep "trained"
  ! venv/bin/python -c "import numpy" 2>/dev/null
  venv/bin/python -m pip install --quiet --disable-pip-version-check "$source"
  try_app
  in_empty "$python" "$app" "$recorder"
  try_app
  echo "Both wheels and the source distribution work with $("$python" --version)."
done
[ -z "$missing" ] || { echo "Not tried:$missing" >&2; exit 3; }
