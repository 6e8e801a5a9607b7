"""The part of TensorFlow's XSpace format that profiles need, as protobuf messages made without generated code.

Names and numbers of the fields are those of `tsl/profiler/protobuf/xplane.proto`. A space holds planes (the host, each
GPU), a plane holds lines (threads, streams), a line holds events, and an event names its metadata by id.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

_PACKAGE = "profet.xplane"

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
    # Here, because every command loads this module and few read such a trace: protobuf takes 50 ms.
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="profet/xplane.proto", package=_PACKAGE, syntax="proto3")
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for name, (number, kind, repeated) in fields.items():
            label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
            field = described.field.add(name=name, number=number, label=label)
            if kind in _MESSAGES:
                field.type, field.type_name = kinds.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
            else:
                field.type = getattr(kinds, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    described = {name: pool.FindMessageTypeByName(f"{_PACKAGE}.{name}") for name in _MESSAGES}
    return SimpleNamespace(**{name: message_factory.GetMessageClass(each) for name, each in described.items()})
