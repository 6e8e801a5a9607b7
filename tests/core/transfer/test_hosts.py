"""Hosts: what was measured, what is assumed of later ones, and what nothing is known of."""

from __future__ import annotations

import pytest

from profet_core.catalog import load_catalog
from profet_core.transfer.hosts import HOSTS, REFERENCE_HOST, UNKNOWN_HOST, host_named


def test_the_two_measured_hosts_are_surer_than_all_others():
    measured = {"broadwell", "cascade-lake"}
    assert {name for name, host in HOSTS.items() if host.log_sd == 0.13} == measured
    assert {host.log_sd for name, host in HOSTS.items() if name not in measured} == {0.26}
    assert UNKNOWN_HOST.log_sd == 0.26


def test_cascade_lake_launches_faster_by_clock_and_instructions_per_clock():
    # 2.7 over 3.1 GHz at 1.1 times the instructions.
    assert host_named("cascade-lake").launch == pytest.approx(0.7918, abs=1e-4)
    assert (REFERENCE_HOST.launch, REFERENCE_HOST.copy) == (1.0, 1.0)


def test_no_later_host_is_taken_for_faster_at_launches_than_the_fastest_measured():
    assert min(host.launch for host in HOSTS.values()) == host_named("cascade-lake").launch


def test_copies_get_no_slower_with_the_generations():
    order = ["haswell", "broadwell", "skylake", "cascade-lake", "rome", "milan", "ice-lake", "sapphire-rapids", "turin"]
    copies = [host_named(name).copy for name in order]
    assert copies == sorted(copies, reverse=True)


@pytest.mark.parametrize("name", ["", "pentium", "Broadwell "])
def test_an_unknown_host_lies_between_the_measured_ones(name):
    host = host_named(name)
    assert host is UNKNOWN_HOST
    assert host_named("cascade-lake").launch < host.launch < host_named("broadwell").launch
    assert host.launch == pytest.approx(0.8898, abs=1e-4)


def test_every_host_of_the_catalogue_is_known_or_left_open():
    assert {row.host for row in load_catalog().values()} <= {*HOSTS, ""}
