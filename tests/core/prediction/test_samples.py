"""The sample traces: enough of them, over all anchors, with their truth, and an honest prediction beside it."""

from __future__ import annotations

import json

import pytest

from profet_core import ArtifactError, predict
from profet_core.prediction.models import load_samples
from profet_lab.samples import write_counted_sample


def test_there_are_at_least_eight_over_all_anchors_left_out_of_other_models_than_the_shipped(
    samples, models, catalog, repository
):
    assert len(samples) >= 8
    assert {sample.anchor for sample in samples.values()} == set(models.instances)
    assert catalog[next(iter(samples.values())).anchor].status == "available", "the first runs where one can rent"
    shipped = load_samples(repository / "sample_traces")
    assert len({sample.title for sample in shipped}) == len(shipped) == len(samples) + 2
    assert all(sample.title and sample.description for sample in samples.values())
    # The shipped models saw every architecture; the fold that is compared with the truth did not.
    same, pairs = 0, 0
    for sample in samples.values():
        shipped = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms).latencies_ms
        for instance, left_out_ms in sample.left_out_ms.items():
            pairs += 1
            same += abs(shipped[instance] / left_out_ms - 1) < 1e-4
    assert same <= pairs / 10


@pytest.mark.parametrize(("axis", "ends"), [("batch_size", (16, 256)), ("pixels", (32, 256))])
def test_one_network_is_there_at_both_ends_of_an_axis_on_one_anchor(samples, axis, ends):
    other = "pixels" if axis == "batch_size" else "batch_size"
    sizes_by_case: dict[tuple, set[int]] = {}
    for sample in samples.values():
        key = (sample.model, sample.anchor, getattr(sample, other))
        sizes_by_case.setdefault(key, set()).add(getattr(sample, axis))
    assert any(set(ends) <= sizes for sizes in sizes_by_case.values())


def test_a_traces_meta_and_truth_agree_with_the_index_and_its_operations_are_known(samples, catalog, models):
    for sample in samples.values():
        meta = sample.profile.meta
        assert meta.step_latency_ms == sample.latency_ms
        assert (meta.batch_size, meta.pixels, meta.precision) == (sample.batch_size, sample.pixels, "fp32")
        assert meta.gpu == catalog[sample.anchor].gpu
    for sample in samples.values():
        assert sample.profile.ignored == ()
        assert sample.profile.device_total_us > 0 and sample.profile.host_total_us > 0
        _, (unknown,) = models.features.encode([sample.profile])
        assert unknown.names == ()
    for sample in samples.values():
        others = set(models.instances) - {sample.anchor}
        assert set(sample.measured_ms) == others
        assert set(sample.left_out_ms) == others
        assert set(sample.left_out_without_latency_ms) == others
        for instance, measured_ms in sample.measured_ms.items():
            assert measured_ms / 3 < sample.left_out_ms[instance] < measured_ms * 3


def test_the_sample_in_amp_has_its_truth_and_answers_every_precision(amp_sample, models, catalog):
    sample, profile = amp_sample, amp_sample.profile
    meta = profile.meta
    assert (meta.precision, meta.gpu, meta.step_latency_ms) == ("amp", "Tesla V100-SXM2-16GB", sample.latency_ms)
    assert "derived" in sample.description and "in AMP" in sample.title
    # The published speed-up of ResNet-50 on V100.
    assert sample.measured_ms[sample.anchor] / sample.latency_ms == pytest.approx(833 / 369, rel=1e-4)
    assert set(sample.measured_ms) == set(models.instances)
    fp32 = predict(models, catalog, profile, sample.anchor, latency_ms=sample.latency_ms, precision="fp32")
    rows = {row.instance: row for row in fp32.predictions}
    for instance, measured_ms in sample.measured_ms.items():
        assert rows[instance].interval.low_ms < measured_ms < rows[instance].interval.high_ms
        assert rows[instance].latency_ms == pytest.approx(measured_ms, rel=0.3)
    amp = {row.instance: row for row in predict(models, catalog, profile, sample.anchor).predictions}
    assert amp[sample.anchor].latency_ms < rows[sample.anchor].latency_ms / 1.9
    assert amp["g4dn.xlarge"].interval.log_half_width < rows["g4dn.xlarge"].interval.log_half_width


def test_the_sample_of_larger_images_says_that_it_is_made_from_counts(counted_sample, tmp_path, repository):
    sample = counted_sample
    marks = (sample.name, sample.title, sample.description, *sample.profile.warnings)
    assert all("counts" in text for text in marks) and len(marks) == 4
    assert sample.pixels == sample.profile.meta.pixels == 640 > 256
    assert sample.latency_ms is None and sample.profile.meta.step_latency_ms is None
    first = load_samples(repository / "sample_traces")[0]
    (tmp_path / first.path.name).write_bytes(first.data)
    assert write_counted_sample(tmp_path)["name"] == sample.name
    again, shipped = ((folder / sample.path.name).read_text() for folder in (tmp_path, sample.path.parent))
    assert json.loads(again) == json.loads(shipped)


@pytest.mark.parametrize("content", [None, "{", "5", "[5]", '[{"name": "x"}]', '[{"unknown": 1}]'])
def test_a_missing_or_damaged_index_is_refused_in_one_line(tmp_path, content):
    if content is not None:
        (tmp_path / "index.json").write_text(content)
    with pytest.raises(ArtifactError, match=r"git checkout sample_traces") as caught:
        load_samples(tmp_path)
    assert str(caught.value).isprintable()
