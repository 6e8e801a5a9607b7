"""The part of TensorFlow's XSpace format that profiles need, as protobuf messages made without generated code.

Names and numbers of the fields are those of `tsl/profiler/protobuf/xplane.proto`. A space holds planes (the host, each
GPU), a plane holds lines (threads, streams), a line holds events, and an event names its metadata by id.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

from profet_core.profiles.decoding.protobuf_wire import message_classes

#: Numbers of the fields that are found without parsing what is around them.
SPACE_PLANES = 1
PLANE_NAME, PLANE_LINES, PLANE_EVENT_METADATA, PLANE_STAT_METADATA, PLANE_STATS = 2, 3, 4, 5, 6
LINE_EVENTS = 4

#: message -> field -> (number, type, repeated); a type in capitals is another message.
_MESSAGES = {
    "Stat": {
        "metadata_id": (1, "int64", False),
        "double_value": (2, "double", False),
        "uint64_value": (3, "uint64", False),
        "int64_value": (4, "int64", False),
        "str_value": (5, "bytes", False),
        "ref_value": (7, "uint64", False),
    },
    "Event": {
        "metadata_id": (1, "int64", False),
        "offset_ps": (2, "int64", False),
        "duration_ps": (3, "int64", False),
        "stats": (4, "Stat", True),
    },
    "Line": {
        "id": (1, "int64", False),
        "name": (2, "bytes", False),
        "timestamp_ns": (3, "int64", False),
        "events": (LINE_EVENTS, "Event", True),
    },
    # One entry of a plane's map from id to metadata; of stats the same fields are used.
    "Metadata": {"id": (1, "int64", False), "name": (2, "bytes", False)},
    "MetadataEntry": {"key": (1, "int64", False), "value": (2, "Metadata", False)},
    "Plane": {
        "id": (1, "int64", False),
        "name": (PLANE_NAME, "bytes", False),
        "lines": (PLANE_LINES, "Line", True),
        "event_metadata": (PLANE_EVENT_METADATA, "MetadataEntry", True),
        "stat_metadata": (PLANE_STAT_METADATA, "MetadataEntry", True),
        "stats": (PLANE_STATS, "Stat", True),
    },
    "Space": {"planes": (SPACE_PLANES, "Plane", True), "hostnames": (4, "bytes", True)},
}


@cache
def messages() -> SimpleNamespace:
    """The message classes by name: `messages().Line.FromString(data)`; texts are bytes, since files may hold any."""
    return message_classes("xplane", _MESSAGES)
