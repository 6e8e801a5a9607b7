#!/bin/sh
# Makes sure that a Chromium is there for the browser tests, or says in one line how to get one. Never fails: without
# a browser those tests are skipped by name (with PROFET_REQUIRE_ALL=1 they fail).
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing chromium for the browser tests ..."
    apt-get update -qq >/dev/null 2>&1
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1
fi
command -v chromium >/dev/null 2>&1 ||
    echo "No Chromium: the browser tests will be skipped. To run them: sudo apt-get install chromium" >&2
exit 0
