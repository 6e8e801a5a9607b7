"""Which hosts a process asks for, from Python and from native code."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

#: Names that no resolver outside is needed for.
_HERE = {"localhost", "None", "''", "'localhost'"}
_TRACED = re.compile(r'inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"')


@dataclass(frozen=True)
class Asked:
    """What a process and its children asked for, written down as they run.

    Python's own sockets are seen by an audit hook. Where `strace` is installed, so are the system calls of native code:
    a name is looked up by asking a name server, which is a connection too.
    """

    folder: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that the process needs."""
        hook = Path(__file__).with_name("network")
        path = os.pathsep.join([str(hook), *filter(None, [os.environ.get("PYTHONPATH")])])
        return {"PYTHONPATH": path, "PROFET_TEST_ASKED": str(self.folder / "asked")}

    @property
    def under(self) -> list[str]:
        """The command that runs the process; empty without `strace`."""
        if shutil.which("strace") is None:
            return []
        calls = "trace=connect,sendto,sendmsg,sendmmsg"
        # A grandchild traces, so that the process itself is whom its starter stops.
        return [
            "strace",
            "--daemonize",
            "--follow-forks",
            "--quiet=all",
            "-e",
            calls,
            "-o",
            str(self.folder / "traced"),
        ]

    @property
    def hosts(self) -> list[str]:
        """Every host that was asked for, this machine too."""
        asked, traced = self.folder / "asked", self.folder / "traced"
        lines = asked.read_text(encoding="utf-8").splitlines() if asked.exists() else []
        hosts = [line.partition(" ")[2].strip("'b") for line in lines]
        if traced.exists():
            hosts += [match[1] or match[2] for match in _TRACED.finditer(traced.read_text(errors="replace"))]
        return hosts

    @property
    def outside(self) -> set[str]:
        """Hosts that are not this machine."""
        return {host for host in self.hosts if not _is_here(host)}


def _is_here(host: str) -> bool:
    if host in _HERE:
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
