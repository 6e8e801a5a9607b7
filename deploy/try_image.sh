#!/bin/sh
# Builds the image and tries it as it is deployed: read-only, without capabilities, without a network that leads out.
# Exit status 3: there is no engine here.
set -eu
cd "$(dirname "$0")/.."
for engine in docker podman ""; do
  [ -z "$engine" ] || { command -v "$engine" >/dev/null && "$engine" info >/dev/null 2>&1; } && break
done
if [ -z "$engine" ]; then
  echo "No container engine runs here: the image is not built; tests/test_image.py compares what it is made of." >&2
  exit 3
fi

"$engine" build --tag profet-app .
container=$("$engine" run --detach --read-only --tmpfs /tmp:size=256m,mode=1777 --cap-drop ALL \
  --security-opt no-new-privileges --network none --memory 2g --pids-limit 256 profet-app)
trap '"$engine" rm --force "$container" >/dev/null' EXIT

for _ in $(seq 60); do
  "$engine" exec "$container" python -c \
    "import urllib.request as r; r.urlopen('http://127.0.0.1:8501/v1/health', timeout=9)" 2>/dev/null && break
  sleep 1
done
"$engine" exec "$container" python -c "
import json, os, urllib.request as r
assert os.getuid() == 10001
sample = json.load(open('sample_traces/vgg16-224px-b16-g3s.json'))
body = json.dumps({'profile': sample, 'anchor': 'g3s.xlarge'}).encode()
request = r.Request('http://127.0.0.1:8501/v1/predict', body, {'Content-Type': 'application/json'})
rows = json.load(r.urlopen(request, timeout=30))['predictions']
assert {row['basis'] for row in rows} >= {'given', 'measured', 'transferred'}, rows
assert json.load(r.urlopen('http://127.0.0.1:8501/v1/health', timeout=30))['status'] == 'ok'
assert b'Streamlit' in r.urlopen('http://127.0.0.1:8501/', timeout=30).read()
"
echo "The image works: healthy, read-only, without capabilities or a network, and it predicts."
