"""Python reads this at its start where this folder is on PYTHONPATH: it writes down every host that is asked for."""

import os
import sys
from pathlib import Path

_ASKED = Path(os.environ["PROFET_TEST_ASKED"])


def _write(event: str, arguments: tuple) -> None:
    if event in {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}:
        host = arguments[0]
    elif event in {"socket.connect", "socket.sendto", "socket.sendmsg"} and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    with _ASKED.open("a", encoding="utf-8") as file:
        file.write(f"{event} {host!r}\n")


sys.addaudithook(_write)
