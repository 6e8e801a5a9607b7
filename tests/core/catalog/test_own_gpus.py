"""GPUs of your own as rows: read, written back, and refused in one line."""

from __future__ import annotations

import pytest

from profet_core.catalog import load_gpus, load_shipped
from profet_core.catalog.own_gpus import (
    checked_own_gpus,
    own_gpu_of,
    own_gpus_path,
    own_gpus_text,
    parse_own_gpus,
    read_own_gpus,
    with_offers_of,
    write_own_gpus,
)
from profet_core.errors import CatalogError, InputError

SHIPPED = load_gpus()
RTX = {"gpu": "RTX 4080", "like": "L40S", "memory_gib": "16", "as_of": "2026-11"}
POINT = {"images_per_s": "480", "network": "ResNet50", "batch_size": "128", "precision": "tf32"}


def own(**cells: str):
    return own_gpu_of({**RTX, **cells}, SHIPPED)


def test_what_is_not_said_is_as_of_the_gpu_that_it_is_like():
    gpu, like = own(fp32_tflops="48.7", tf32_tensor_dense_tflops="none").gpu, SHIPPED["L40S"]
    assert (gpu.fp32_tflops, gpu.memory_gib, gpu.tf32_tensor_dense_tflops) == (48.7, 16, None)
    assert (gpu.bandwidth_gb_per_s, gpu.sm_count, gpu.tdp_w) == (like.bandwidth_gb_per_s, like.sm_count, like.tdp_w)
    assert gpu.source == "given by the user; what was not, as of L40S"
    assert own(like="Tesla T4", memory_gib="16").gpu.usable_memory_gib == SHIPPED["Tesla T4"].usable_memory_gib
    assert own(like="Tesla T4", memory_gib="24").gpu.usable_memory_gib is None


def test_it_can_be_had_at_its_price_or_at_its_electricity_s():
    priced, plain = own(usd_per_hour="0.6").offer, own(tdp_w="320").offer
    assert (priced.name, priced.market, priced.usd_per_hour) == ("rtx-4080", "own", 0.6)
    assert (plain.usd_per_hour, plain.source) == (0.064, "electricity for 320 W at $0.2 per kWh, assumed")
    catalog = with_offers_of(load_shipped(), [own()])
    assert catalog["rtx-4080"].gpu == "RTX 4080" and list(catalog)[:-1] == list(load_shipped())
    dearer = with_offers_of(catalog, [own(usd_per_hour="9")])
    assert dearer["rtx-4080"] == catalog["rtx-4080"], "an instance of that name says itself what it costs"


@pytest.mark.parametrize(
    "cells", [{}, POINT, {"times_reference": "1.8", "times_log_sd": "0.1", "precision": "tf32", "source": "a table"}]
)
def test_a_row_is_read_back_as_it_was_written(tmp_path, cells):
    rows = (own(**cells, tf32_tensor_dense_tflops="none" if not cells else "90"), own(gpu="other card"))
    assert parse_own_gpus(own_gpus_text(rows), SHIPPED) == rows
    path = tmp_path / "new" / "gpus.csv"
    write_own_gpus(path, rows)
    assert read_own_gpus(path, SHIPPED) == rows
    assert read_own_gpus(tmp_path / "none.csv", SHIPPED) == ()


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ({"gpu": ""}, "Give the GPU a name."),
        ({"gpu": "<b>"}, "A GPU name may only have letters, digits"),
        ({"gpu": "T4"}, "The catalog already has T4 as Tesla T4: use that one, or choose another name."),
        ({"gpu": "V100 lab"}, "V100 lab would be read as V100: remove that from the name."),
        ({"like": ""}, "RTX 4080: name a similar GPU"),
        ({"like": "Q9"}, "Unknown GPU 'Q9'"),
        ({"memory_gib": "0"}, "RTX 4080: memory_gib must be a number above 0, not 0.0."),
        ({"bandwidth_gb_per_s": "much"}, "RTX 4080: bandwidth_gb_per_s must be a number, not 'much'."),
        ({"as_of": "soon"}, "RTX 4080: as_of must be a date"),
        ({**POINT, "images_per_s": "-3"}, "RTX 4080: images_per_s must be a number above 0, not -3.0."),
        ({**POINT, "network": ""}, "RTX 4080: network is empty: give the workload that ran at 480 images/s."),
        ({**POINT, "precision": "amp"}, "RTX 4080: precision must be fp32 or tf32, not 'amp'"),
        ({**POINT, "times_reference": "2"}, "RTX 4080: give images_per_s or times_reference, not both."),
    ],
)
def test_a_wrong_row_is_one_line(cells, says):
    with pytest.raises(InputError) as error:
        own(**cells)
    assert says in str(error.value) and "\n" not in str(error.value)


def test_a_list_has_each_once_and_not_too_many():
    with pytest.raises(InputError, match=r"^RTX 4080 is listed twice"):
        checked_own_gpus([own(), own(gpu="rtx 4080")])
    with pytest.raises(InputError, match="You have 21 custom GPUs, and 20"):
        checked_own_gpus([own(gpu=f"card {number}") for number in range(21)])
    with pytest.raises(CatalogError, match="Custom GPUs: row RTX 4080 has no column 'like'"):
        parse_own_gpus("gpu\nRTX 4080\n", SHIPPED)


def test_an_own_gpu_s_model_means_it():
    laptop = "NVIDIA GeForce RTX 3090 Laptop GPU"
    assert own(gpu=laptop).offer.gpu_model == laptop, "a part has a name of its own"
    gpus = SHIPPED.with_own([own(gpu="Lab card").gpu, own(gpu="B999").gpu])
    assert gpus.find("NVIDIA L4").name == "L4" and gpus.find("lab card").name == "Lab card"
    assert gpus.find("NVIDIA B999").name == "B999"
    # A visitor's come to those of the server.
    both = SHIPPED.with_own([own(gpu="Lab card").gpu]).with_own([own(gpu="my card").gpu])
    assert both.own == {"Lab card", "my card"} and list(both.shipped) == list(SHIPPED)
    again = both.with_own([own(gpu="Lab card", memory_gib="10").gpu])
    assert again["Lab card"].memory_gib == 10 and len(again) == len(both)


def test_where_the_file_is(monkeypatch, tmp_path):
    monkeypatch.delenv("PROFET_GPUS", raising=False)
    monkeypatch.setenv("PROFET_INSTANCES", str(tmp_path / "instances.csv"))
    assert own_gpus_path() == tmp_path / "gpus.csv"
    monkeypatch.setenv("PROFET_INSTANCES", "")
    assert own_gpus_path() is None
    monkeypatch.setenv("PROFET_GPUS", str(tmp_path / "mine.csv"))
    assert own_gpus_path() == tmp_path / "mine.csv"
