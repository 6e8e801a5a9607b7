"""Batch and image size in a profile's file name, such as vgg16_224ds_16bs.json."""

from __future__ import annotations

import re

_SEPARATED = re.compile(r"[^a-z0-9]+")
#: EfficientNet-B4 is no batch of 4.
_BATCH = re.compile(
    r"\b(?:batch ?size|batch|bs) ?([1-9]\d{0,4})\b|\b([1-9]\d{0,4}) ?(?:batch|bs)\b|(?<!net )\bb ?([1-9]\d{0,4})\b"
)
_PIXELS = re.compile(
    r"\b(?:pixels|px|ds|img ?sz|img|image|size) ?(\d{2,4})\b|\b(\d{2,4}) ?(?:pixels|pix|px|ds|p)\b|\b(\d{2,4}) ?x ?\3\b"
)
#: A number alone is an image size where it is one that networks are trained at.
_ALONE = re.compile(r"\b(32|64|96|128|160|192|224|240|256|299|331|384|416|448|480|512|600|640)\b")


def sizes_in_name(name: str) -> tuple[int | None, int | None]:
    """Batch size and pixels that a file's name states; None where it doesn't.

    >>> sizes_in_name("vgg16_224ds_16bs.json"), sizes_in_name("ResNet50_128_b32.json"), sizes_in_name("trace.json")
    ((16, 224), (32, 128), (None, None))
    """
    words = _SEPARATED.sub(" ", name.lower())
    batch, words = _taken(_BATCH, words)
    pixels, words = _taken(_PIXELS, words)
    if pixels is None and len(alone := _ALONE.findall(words)) == 1:
        pixels = int(alone[0])
    return batch, pixels


def _taken(pattern: re.Pattern[str], words: str) -> tuple[int | None, str]:
    """The number that `pattern` finds, if it finds just one, and the words without it."""
    found = list(pattern.finditer(words))
    if len(found) != 1:
        return None, words
    match = found[0]
    return int(next(filter(None, match.groups()))), f"{words[: match.start()]} {words[match.end() :]}"
