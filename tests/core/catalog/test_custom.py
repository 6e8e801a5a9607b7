"""Custom instances and GPUs: where their files are, what they may leave out, how they are laid over and written."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profet_core import CatalogError, InputError, load_catalog
from profet_core.catalog import custom_path, load_catalog_with_custom, load_gpus, load_served_catalog, load_shipped
from profet_core.catalog.custom_gpus import (
    checked_custom_gpus,
    custom_gpu_from,
    custom_gpus_path,
    custom_gpus_text,
    parse_custom_gpus,
    read_custom_gpus,
    served_custom_gpus_path,
    with_offers_of,
    write_custom_gpus,
)
from profet_core.catalog.custom_instances import read_custom_instances, with_updates, write_custom_instances

HEADER = "instance,gpu,gpu_count,gpu_memory_gib,vcpus,usd_per_hour,region,os,market,status,as_of,source"
MINE = "my.l4,L4,,,,0.7,any,linux,spot,,2026-11-21,an invoice"
CHEAPER = "g4dn.xlarge,,,,,0.4,us-east-1,linux,on-demand,,2026-11-21,our contract"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """`own(lines...)` writes the file that the environment names."""
    path = tmp_path / "instances.csv"
    monkeypatch.setenv("PROFET_INSTANCES", str(path))

    def write(*lines: str) -> Path:
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return write


@pytest.mark.skipif(sys.platform == "win32", reason="folders of Unix")
def test_the_file_lies_where_settings_lie(monkeypatch, tmp_path):
    monkeypatch.delenv("PROFET_INSTANCES")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    assert custom_path() == tmp_path / "settings" / "profet" / "instances.csv"
    for unusable in ("", "relative/folder"):
        monkeypatch.setenv("XDG_CONFIG_HOME", unusable)
        assert custom_path() == tmp_path / ".config" / "profet" / "instances.csv"
    monkeypatch.setenv("HOME", "")
    assert custom_path() is None, "not the root folder"


def test_the_environment_names_another_file_or_none(monkeypatch, tmp_path):
    monkeypatch.setenv("PROFET_INSTANCES", "/somewhere/mine.csv")
    assert custom_path() == Path("/somewhere/mine.csv")
    monkeypatch.setenv("PROFET_INSTANCES", "")
    assert custom_path() is None
    assert list(load_catalog()) == list(load_shipped())
    monkeypatch.delenv("PROFET_GPUS", raising=False)
    monkeypatch.setenv("PROFET_INSTANCES", str(tmp_path / "instances.csv"))
    assert custom_gpus_path() == tmp_path / "gpus.csv"
    monkeypatch.setenv("PROFET_INSTANCES", "")
    assert custom_gpus_path() is None
    monkeypatch.setenv("PROFET_GPUS", str(tmp_path / "mine.csv"))
    assert custom_gpus_path() == tmp_path / "mine.csv"


def test_without_the_file_the_shipped_catalog_is_whole_and_one_without_end_is_refused(own, tmp_path):
    assert load_catalog().all_offers == load_shipped().all_offers
    assert load_catalog_with_custom(tmp_path / "nowhere.csv") == load_catalog_with_custom(None)
    assert "can't be read" in load_catalog_with_custom(tmp_path)[1], "a folder in its place"
    os.mkfifo(tmp_path / "pipe")
    assert "named pipe" in load_catalog_with_custom(tmp_path / "pipe")[1]
    own(HEADER, *[MINE] * (2_000_000 // len(MINE)))
    with pytest.raises(CatalogError, match="more than 2 MB"):
        load_catalog()


def test_custom_rows_are_laid_over_the_shipped_ones_and_may_name_provider_and_host(own):
    own(HEADER, CHEAPER, MINE)
    catalog, shipped = load_catalog(), load_shipped()
    assert list(catalog) == [*shipped, "my.l4"]
    cheaper = catalog["g4dn.xlarge"]
    assert (cheaper.usd_per_hour, cheaper.custom, cheaper.source) == (0.4, True, "our contract")
    assert (cheaper.gpu, cheaper.vcpus, cheaper.gpu_memory_gib) == ("Tesla T4", 4, 16)
    on_demand = [offer for offer in catalog.offers("g4dn.xlarge") if offer.market == "on-demand"]
    assert on_demand == [cheaper], "it replaces the shipped price"
    assert (cheaper.provider, cheaper.host) == ("aws", "cascade-lake")
    mine = catalog["my.l4"]
    assert (mine.gpu, mine.gpu_count, mine.gpu_memory_gib, mine.vcpus, mine.status) == ("L4", 1, 24, None, "available")
    assert (mine.provider, mine.host) == ("own", "")
    assert not catalog["g5.xlarge"].custom
    own(f"{HEADER},provider,host", f"{CHEAPER},,", f"{MINE},hetzner,genoa")
    catalog = load_catalog()
    assert (catalog["my.l4"].provider, catalog["my.l4"].host) == ("hetzner", "genoa")
    assert catalog["g4dn.xlarge"].provider == "aws"
    own(f"{HEADER},provider,host", f"{CHEAPER},gcp,")
    with pytest.raises(CatalogError, match=r"^g4dn\.xlarge: provider is 'aws' in one row and 'gcp' in another"):
        load_catalog()


def test_custom_prices_of_other_markets_stand_beside_the_shipped_and_their_status_counts(own):
    own(HEADER, CHEAPER.replace("on-demand", "spot"))
    offers = load_catalog().offers("g4dn.xlarge")
    assert [(o.market, o.usd_per_hour, o.custom) for o in offers] == [("on-demand", 0.526, False), ("spot", 0.4, True)]
    own(HEADER, CHEAPER.replace("us-east-1", "eu-west-1"))
    catalog = load_catalog()
    assert catalog["g4dn.xlarge"].region == "eu-west-1"
    assert [o.usd_per_hour for o in catalog.offers("g4dn.xlarge") if o.region == "us-east-1"] == [0.526, 0.2039]
    retired = CHEAPER.replace("g4dn.xlarge", "p3.2xlarge")
    own(HEADER, retired)
    assert load_catalog()["p3.2xlarge"].status == "retired"
    own(HEADER, retired.replace("on-demand,,", "spot,available,"))
    assert {offer.status for offer in load_catalog().offers("p3.2xlarge")} == {"available"}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([HEADER, CHEAPER, CHEAPER], "twice for a region and market"),
        ([HEADER, CHEAPER.replace("xlarge,,", "xlarge,A10G,")], "g4dn.xlarge: gpu is 'Tesla T4' in one row and 'A10G'"),
        (
            [HEADER, MINE.replace("L4,", "Voodoo,")],
            "my.l4: gpu_memory_gib is empty, and the specs of 'Voodoo' are unknown",
        ),
        ([""], "has no rows"),
    ],
)
def test_a_damaged_file_is_named_and_the_shipped_rows_stay_usable(own, lines, says):
    path = own(*lines)
    catalog, problem = load_catalog_with_custom()
    assert list(catalog.all_offers) == list(load_shipped().all_offers)
    assert says in problem and str(path) in problem and problem.isprintable()
    with pytest.raises(CatalogError) as caught:
        load_catalog()
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("row", "memory_gib"),
    [
        ("my.two,Tesla P100-SXM2-32GB,2,32,,3,any,linux,on-demand,,2026-01,invoice", 32),
        ("my.a100,Lab A100 96,1,96,,1,any,linux,on-demand,,2026-01,invoice", 96),
    ],
)
def test_a_gpu_of_another_memory_than_its_data_sheet_has_a_price_only(own, row, memory_gib):
    own(HEADER, row)
    name = row.partition(",")[0]
    listed = load_catalog()[name]
    assert listed.gpu_memory_gib == memory_gib
    with pytest.raises(InputError, match=f"GiB, not {memory_gib}"):
        load_gpus().find(listed.gpu, listed.gpu_memory_gib)


CELLS = st.sampled_from(
    [
        *("", "g4dn.xlarge", "mine", "L4", "T4", "-1", "0", "1", "2.5", "nan", "1e999", "9" * 5000, "us-east-1"),
        *("linux", "spot", "on-demand", "available", "retired", "2026", "2026-13", "\x00", "a\u2028b", '"', "é"),
    ]
)


@settings(max_examples=25)
@given(rows=st.lists(st.lists(CELLS, min_size=11, max_size=13), max_size=4), cut=st.integers(0, 200))
def test_whatever_the_file_holds_there_is_a_catalog_and_at_most_one_line(tmp_path_factory, rows, cut):
    path = tmp_path_factory.mktemp("own") / "instances.csv"
    text = "\n".join([HEADER, *(",".join(row) for row in rows)])
    path.write_text(text[: len(text) - cut], encoding="utf-8")
    catalog, problem = load_catalog_with_custom(path)
    assert set(load_shipped()) <= set(catalog)
    assert problem is None or (problem.isprintable() and len(problem) < 1000)


def test_what_is_written_is_read_back_and_a_same_offer_keeps_its_place(own):
    path, shipped = own(HEADER, CHEAPER, MINE), load_shipped()
    rows = read_custom_instances(path, shipped)
    write_custom_instances(path, rows, shipped)
    assert read_custom_instances(path, shipped) == rows
    assert "Tesla T4" not in path.read_text(), "what the catalog knows stays the catalog's"
    write_custom_instances(path, [], shipped)
    assert path.read_text() == HEADER + ",provider,host\n"
    assert read_custom_instances(path, shipped) == []
    rows = read_custom_instances(own(HEADER, CHEAPER, MINE), load_shipped())
    newer = read_custom_instances(own(HEADER, CHEAPER.replace("0.4", "0.3")), load_shipped())
    assert [(row.name, row.usd_per_hour) for row in with_updates(rows, newer)] == [("g4dn.xlarge", 0.3), ("my.l4", 0.7)]


def test_folders_are_made_and_a_failed_write_leaves_the_old_file(tmp_path, own):
    shipped = load_shipped()
    rows = read_custom_instances(own(HEADER, MINE), shipped)
    path = tmp_path / "new" / "folder" / "mine.csv"
    write_custom_instances(path, rows, shipped)
    assert list(path.parent.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    before = path.read_bytes()
    with pytest.raises(AttributeError):
        write_custom_instances(path, [*rows, None], shipped)
    assert path.read_bytes() == before and list(path.parent.iterdir()) == [path]
    with pytest.raises(CatalogError, match="can't be written"):
        write_custom_instances(path / "below-a-file.csv", rows, shipped)


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    for name in ("PROFET_INSTANCES", "PROFET_GPUS", "PROFET_APP_INSTANCES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PROFET_HOME", str(tmp_path))
    return tmp_path


def test_the_catalog_lies_beside_custom_models_for_commands_and_servers(home, monkeypatch, repository):
    assert (custom_path(), custom_gpus_path()) == (home / "instances.csv", home / "gpus.csv")
    (home / "instances.csv").write_text(f"{HEADER}\n{MINE}\n")
    assert "my.l4" in load_catalog()
    monkeypatch.setenv("PROFET_INSTANCES", "")
    assert "my.l4" not in load_catalog()
    (home / "instances.csv").write_text(f"{HEADER}\n{MINE}\n")
    assert served_custom_gpus_path() == home / "gpus.csv"
    catalog, problem = load_served_catalog()
    assert problem is None and "my.l4" in catalog
    monkeypatch.setenv("PROFET_APP_INSTANCES", "")
    assert "my.l4" not in load_served_catalog()[0], "unless its operator says: none"
    assert served_custom_gpus_path() is None
    # What ships is no custom folder.
    monkeypatch.delenv("PROFET_INSTANCES")
    monkeypatch.setenv("PROFET_HOME", str(repository / "models"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    assert custom_path() == home / "profet" / "instances.csv"


SHIPPED = load_gpus()
RTX = {"gpu": "RTX 4080", "like": "L40S", "memory_gib": "16", "as_of": "2026-11"}
POINT = {"images_per_s": "480", "network": "ResNet50", "batch_size": "128", "precision": "tf32"}


def custom_gpu(**cells: str):
    return custom_gpu_from({**RTX, **cells}, SHIPPED)


def test_what_is_not_given_is_as_of_the_like_gpu_at_its_price_or_electricity():
    gpu, like = custom_gpu(fp32_tflops="48.7", tf32_tensor_dense_tflops="none").gpu, SHIPPED["L40S"]
    assert (gpu.fp32_tflops, gpu.memory_gib, gpu.tf32_tensor_dense_tflops) == (48.7, 16, None)
    assert (gpu.bandwidth_gb_per_s, gpu.sm_count, gpu.tdp_w) == (like.bandwidth_gb_per_s, like.sm_count, like.tdp_w)
    assert gpu.source == "given by the user; what was not, as of L40S"
    assert custom_gpu(like="Tesla T4", memory_gib="16").gpu.usable_memory_gib == SHIPPED["Tesla T4"].usable_memory_gib
    assert custom_gpu(like="Tesla T4", memory_gib="24").gpu.usable_memory_gib is None
    priced, plain = custom_gpu(usd_per_hour="0.6").offer, custom_gpu(tdp_w="320").offer
    assert (priced.name, priced.market, priced.usd_per_hour) == ("rtx-4080", "own", 0.6)
    assert (plain.usd_per_hour, plain.source) == (0.064, "electricity for 320 W at $0.2 per kWh, assumed")
    catalog = with_offers_of(load_shipped(), [custom_gpu()])
    assert catalog["rtx-4080"].gpu == "RTX 4080" and list(catalog)[:-1] == list(load_shipped())
    dearer = with_offers_of(catalog, [custom_gpu(usd_per_hour="9")])
    assert dearer["rtx-4080"] == catalog["rtx-4080"], "an instance of that name says itself what it costs"


@pytest.mark.parametrize(
    "cells", [{}, POINT, {"times_reference": "1.8", "times_log_sd": "0.1", "precision": "tf32", "source": "a table"}]
)
def test_a_row_is_read_back_as_it_was_written(tmp_path, cells):
    rows = (custom_gpu(**cells, tf32_tensor_dense_tflops="none" if not cells else "90"), custom_gpu(gpu="other card"))
    assert parse_custom_gpus(custom_gpus_text(rows), SHIPPED) == rows
    path = tmp_path / "new" / "gpus.csv"
    write_custom_gpus(path, rows)
    assert read_custom_gpus(path, SHIPPED) == rows
    assert read_custom_gpus(tmp_path / "none.csv", SHIPPED) == ()


@pytest.mark.parametrize(("name", "full"), [("RTX 3090", "RTX 3090"), ("geforce rtx 3090", "GeForce RTX 3090")])
def test_a_row_whose_gpu_ships_by_now_is_used_with_one_warning(tmp_path, caplog, name, full):
    path = tmp_path / "gpus.csv"
    path.write_text(custom_gpus_text([custom_gpu(memory_gib="20")]).replace("RTX 4080", name))
    for _ in range(2):
        (row,) = read_custom_gpus(path, SHIPPED)
    gpus = SHIPPED.with_custom([row.gpu])
    assert gpus[full].memory_gib == gpus.find(name).memory_gib == 20 and set(SHIPPED) <= set(gpus)
    (warning,) = caplog.messages
    assert str(path) in warning and f"profet gpus remove '{full}'" in warning and "\n" not in warning


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ({"gpu": ""}, "a name"),
        ({"gpu": "<b>"}, "'<b>'"),
        ({"gpu": "T4"}, "T4 as Tesla T4"),
        ({"gpu": "V100 lab"}, "read as V100"),
        ({"like": ""}, "RTX 4080: name a similar GPU"),
        ({"like": "Q9"}, "'Q9'"),
        ({"memory_gib": "0"}, "RTX 4080: memory_gib"),
        ({"bandwidth_gb_per_s": "much"}, "not 'much'"),
        ({"as_of": "soon"}, "RTX 4080: as_of"),
        ({**POINT, "images_per_s": "-3"}, "not -3.0"),
        ({**POINT, "network": ""}, "RTX 4080: network is empty"),
        ({**POINT, "precision": "amp"}, "not 'amp'"),
        ({**POINT, "times_reference": "2"}, "not both"),
    ],
)
def test_a_wrong_row_is_one_line(cells, says):
    with pytest.raises(InputError) as error:
        custom_gpu(**cells)
    assert says in str(error.value) and "\n" not in str(error.value)


def test_a_list_has_each_once_and_not_too_many():
    for rows in (
        [custom_gpu(), custom_gpu(gpu="rtx 4080")],
        [custom_gpu(gpu=f"card {number}") for number in range(21)],
    ):
        with pytest.raises(InputError, match=r"RTX 4080|21"):
            checked_custom_gpus(rows)
    with pytest.raises(CatalogError, match="no column 'like'"):
        parse_custom_gpus("gpu\nRTX 4080\n", SHIPPED)


def test_a_custom_gpu_s_model_means_it():
    laptop = "NVIDIA GeForce RTX 3090 Laptop GPU"
    assert custom_gpu(gpu=laptop).offer.gpu_model == laptop, "a part has a name of its own"
    gpus = SHIPPED.with_custom([custom_gpu(gpu="Lab card").gpu, custom_gpu(gpu="B999").gpu])
    assert gpus.find("NVIDIA L4").name == "L4" and gpus.find("lab card").name == "Lab card"
    assert gpus.find("NVIDIA B999").name == "B999"
    # A visitor's come to those of the server.
    both = SHIPPED.with_custom([custom_gpu(gpu="Lab card").gpu]).with_custom([custom_gpu(gpu="my card").gpu])
    assert both.own == {"Lab card", "my card"} and list(both.shipped) == list(SHIPPED)
    again = both.with_custom([custom_gpu(gpu="Lab card", memory_gib="10").gpu])
    assert again["Lab card"].memory_gib == 10 and len(again) == len(both)
