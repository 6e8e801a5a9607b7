"""Whether a step fits, as the pages ask: a second profile's peak counts beside the first one's."""

from __future__ import annotations

from types import SimpleNamespace

from profet_core import Profile, ProfileMeta
from profet_core.catalog import load_gpus
from ui.memory import fit_sentence, fits_of


def outcome(batch_size: int, peak_mib: float) -> SimpleNamespace:
    meta = ProfileMeta(framework="TensorFlow 2.16", batch_size=batch_size, pixels=128, peak_memory_mib=peak_mib)
    held = SimpleNamespace(profile=Profile({"Device_Conv2D": 9e4, "Host_IDLE": 1.0}, meta))
    return SimpleNamespace(held=held, prediction=SimpleNamespace(anchor="g4dn.xlarge"))


def test_peaks_of_both_profiles_are_held_together(models, catalog):
    resources = SimpleNamespace(models=models, catalog=catalog, gpus=load_gpus())
    small, large = outcome(16, 1024), outcome(256, 5824)
    alone = fits_of(resources, small, ["g3s.xlarge"], 512, 128)["g3s.xlarge"]
    both = fits_of(resources, small, ["g3s.xlarge"], 512, 128, large)["g3s.xlarge"]
    assert "from the recorded peak (TensorFlow)" in fit_sentence(alone)
    assert "from the recorded peaks (TensorFlow)" in fit_sentence(both)
    # 20 MiB an image and 704 that stay: as if all grew, far fewer images would fit.
    assert alone.largest_batch < both.largest_batch < 512
