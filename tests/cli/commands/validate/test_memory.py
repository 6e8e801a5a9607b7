"""`profet validate --memory`: what goes with it, and that its table holds the report's figures."""

from __future__ import annotations

from profet_cli.commands.validate.memory import print_memory
from profet_cli.main import main
from tests.made.transfer_report import RECORDED, made_transfer_report


def test_what_does_not_go_with_memory_is_one_line(capsys):
    assert main(["validate", "--memory", "--scaler", "--transfer"]) == 2
    error = capsys.readouterr().err
    assert error == "profet: --memory validates on all instances at once: leave --scaler, --transfer out.\n"


def test_recorded_peaks_are_rows_of_their_own(capsys):
    report = made_transfer_report("0", "0")["memory"]
    print_memory(report)
    lines = capsys.readouterr().out.splitlines()
    for known in RECORDED:
        (line,) = (line for line in lines if line.startswith(known))
        row = report["recorded"][known]
        for name in ("recall", "strict_recall", "strict_false_fits"):
            assert f"{100 * row[name]:.1f} %" in line
