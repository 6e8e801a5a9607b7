"""What a server does before its visitors come says nothing in its log, and is not gone through again and again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_WARM_UP = """
import gc, threading
from ui.server import warm_up
loading = threading.Thread(target=warm_up)
loading.start()
loading.join()
print(gc.get_freeze_count())
"""


def test_it_is_quiet_and_what_it_loads_lasts(repository: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _WARM_UP], cwd=repository, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 50_000
