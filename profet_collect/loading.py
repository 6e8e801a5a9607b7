"""Time how many images of a folder this machine's vCPUs prepare for training, in PyTorch's or TensorFlow's loader."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from profet_collect.run import installed_frameworks
from profet_collect.store import Framework
from profet_core.errors import InputError

#: Names of images that both loaders read.
IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp")
#: Images that are taken of a larger folder.
_MAX_IMAGES = 10_000
_BATCH_SIZE = 32
#: A random crop has this share of the image's area, and is as high as wide.
_SMALLEST_CROP = 0.08


def measure_loading(
    folder: Path, frameworks: Sequence[Framework] = (), *, pixels: int = 224, seconds: float = 20.0, seed: int = 0
) -> dict[str, Any]:
    """Decode, crop, flip and batch the folder's images on all vCPUs of this process for some seconds.

    Returns:
    `framework`, `images_per_s`, `vcpus` that prepared them, `images` that were taken of the folder, `pixels` that they
    were cropped to, and `images_per_s_per_vcpu`.

    Raises
    ------
    InputError : no framework is installed, or the folder has no images that can be read.
    """
    found = [name for name in frameworks or installed_frameworks() if name in installed_frameworks()]
    if not found:
        raise InputError("Install PyTorch with Pillow, or TensorFlow, for this Python first.")
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder of images.")
    every = (path for path in folder.rglob("*") if path.suffix.lower() in IMAGE_ENDINGS and path.is_file())
    files = sorted(map(str, islice(every, _MAX_IMAGES)))
    if not files:
        raise InputError(f"{folder} has no {', '.join(IMAGE_ENDINGS)} files.")
    random.Random(seed).shuffle(files)
    vcpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    batches = {"pytorch": _torch_batches, "tensorflow": _tf_batches}[found[0]]
    try:
        rate = _rate(batches(files, pixels, vcpus), warm_up=2 * vcpus, seconds=seconds)
    except Exception as error:
        # Each framework has errors of its own.
        (line, *_) = [*str(error).strip().splitlines(), type(error).__name__]
        raise InputError(f"The images of {folder} can't be loaded: {line[:200]}") from None
    return {
        "framework": found[0],
        "images_per_s": rate,
        "vcpus": vcpus,
        "images": len(files),
        "pixels": pixels,
        "images_per_s_per_vcpu": rate / vcpus,
    }


def _rate(sizes: Iterator[int], warm_up: int, seconds: float) -> float:
    """Images per second after some batches, which fill the loader's queue."""
    for _ in islice(sizes, warm_up):
        pass
    images, start = 0, perf_counter()
    for size in sizes:
        images += size
        if (took_s := perf_counter() - start) >= seconds:
            break
    return images / took_s


class _Images:
    """The files over and over, as PyTorch's loader takes them: cropped at random, flipped, as tensors."""

    def __init__(self, files: Sequence[str], pixels: int) -> None:
        self.files, self.pixels = files, pixels

    def __len__(self) -> int:
        return 2**31

    def __getitem__(self, number: int) -> Any:
        import torch
        from PIL import Image

        with Image.open(self.files[number % len(self.files)]) as file:
            image = file.convert("RGB")
        side = (image.width * image.height * random.uniform(_SMALLEST_CROP, 1)) ** 0.5
        width, height = min(side, image.width), min(side, image.height)
        left, top = random.uniform(0, image.width - width), random.uniform(0, image.height - height)
        size = self.pixels, self.pixels
        image = image.resize(size, Image.Resampling.BILINEAR, (left, top, left + width, top + height))
        if random.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        values = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
        return values.reshape(*size, 3).permute(2, 0, 1).float().div(255).sub(0.5).div(0.25)


def _torch_batches(files: Sequence[str], pixels: int, vcpus: int) -> Iterator[int]:
    from torch.utils.data import DataLoader

    images: Any = _Images(files, pixels)
    for batch in DataLoader(images, batch_size=_BATCH_SIZE, num_workers=vcpus):
        yield len(batch)


def _tf_batches(files: Sequence[str], pixels: int, vcpus: int) -> Iterator[int]:
    import tensorflow as tf

    def prepared(path: Any) -> Any:
        image = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)
        area = tf.cast(tf.reduce_prod(tf.shape(image)[:2]), tf.float32) * tf.random.uniform([], _SMALLEST_CROP, 1)
        sides = tf.minimum(tf.cast(tf.sqrt(area), tf.int32), tf.shape(image)[:2])
        image = tf.image.random_crop(image, tf.concat([sides, [3]], 0))
        image = tf.image.random_flip_left_right(tf.image.resize(image, [pixels, pixels]))
        return image / 127.5 - 1

    data = tf.data.Dataset.from_tensor_slices(list(files)).repeat()
    for batch in data.map(prepared, num_parallel_calls=vcpus).batch(_BATCH_SIZE).prefetch(tf.data.AUTOTUNE):
        yield len(batch)
