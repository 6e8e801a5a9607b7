"""Makes protobuf messages from a description of the fields that are needed, without generated code."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

#: message -> field -> (number, type, repeated); a type that is a message of the same description is that message.
Description = Mapping[str, Mapping[str, tuple[int, str, bool]]]


def message_classes(name: str, description: Description) -> SimpleNamespace:
    """The message classes by name: `classes.Line.FromString(data)`.

    Parameters
    ----------
    name : of the format, one word.
    """
    # Here, because every command loads this module and few read such a trace: protobuf takes 50 ms.
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    package = f"profet.{name}"
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name=f"profet/{name}.proto", package=package, syntax="proto3")
    for message, fields in description.items():
        described = file.message_type.add(name=message)
        for field_name, (number, kind, repeated) in fields.items():
            label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
            field = described.field.add(name=field_name, number=number, label=label)
            if kind in description:
                field.type, field.type_name = kinds.TYPE_MESSAGE, f".{package}.{kind}"
            else:
                field.type = getattr(kinds, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    found = {message: pool.FindMessageTypeByName(f"{package}.{message}") for message in description}
    return SimpleNamespace(**{message: message_factory.GetMessageClass(each) for message, each in found.items()})
