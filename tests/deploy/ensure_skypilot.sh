#!/bin/sh
# Makes sure that SkyPilot is there for the test of its tasks, in an environment of its own (460 MB whose requirements are
# not ours): sh ensure_skypilot.sh PYTHON FOLDER. Never fails: without it that test skips by name.
wanted="$(dirname "$0")/skypilot.txt"
[ -e "$2/done" ] && [ ! "$wanted" -nt "$2/done" ] && exit 0
echo "Installing SkyPilot for the test of its tasks ..."
"$1" -m venv "$2" &&
    "$2/bin/python" -m pip install --quiet --disable-pip-version-check -r "$wanted" >/dev/null 2>&1 &&
    touch "$2/done" ||
    echo "No SkyPilot is on offer: the test of its tasks skips." >&2
exit 0
