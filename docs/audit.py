"""Asks an advisory database about the locked set: `make audit`.

Exit status 0: nothing is known against it; 1: something is; 3: the database is not available, so that nothing is known.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "requirements-serve.txt"
CLEAN, FOUND, UNREACHABLE = 0, 1, 3


def main() -> int:
    """Audit and print."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--disable-pip", "--format", "json"]
    done = subprocess.run([*command, "--progress-spinner", "off"], capture_output=True, text=True, timeout=600)
    try:
        return report(json.loads(done.stdout)["dependencies"])
    except (ValueError, KeyError):
        print(f"Not audited, the advisory database is not available: {_last_line(done.stderr)}", file=sys.stderr)
        return UNREACHABLE


def report(packages: list[dict]) -> int:
    """Print what is known against each package; returns the exit status."""
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    known = [(package, each) for package in packages for each in package.get("vulns", ())]
    for package, advisory in known:
        fixed = ", ".join(advisory["fix_versions"]) or "no version"
        print(f"{package['name']} {package['version']}: {advisory['id']}, fixed in {fixed}")
    if known:
        return FOUND
    if skipped:
        which = "all" if len(skipped) == len(packages) else ", ".join(skipped)
        print(f"Not audited, the advisory database has no answer here: {which} of {len(packages)}.", file=sys.stderr)
        return UNREACHABLE
    print(f"Nothing is known against {len(packages)} packages.")
    return CLEAN


def _last_line(text: str) -> str:
    return next(iter(reversed(text.strip().splitlines())), "no reason given")


if __name__ == "__main__":
    raise SystemExit(main())
