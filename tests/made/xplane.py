"""Writes xplane files from the schema: what a GPU would have recorded, with times that can be added up by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from profet_profiles.xplane import messages

#: Name, start and duration in microseconds, and stats; `Ref("text")` is stored as TensorFlow stores repeated texts.
Event = tuple[str, float, float, Mapping[str, object]]


class Ref(str):
    """A text that an event refers to by number."""


def xplane(
    planes: Mapping[str, Mapping[str, Sequence[Event]]],
    host_name: str = "",
    capability: int = 0,
    facts: Mapping[str, int] | None = None,
) -> bytes:
    """A trace of planes of lines of events; every GPU has the compute capability and facts ("core_count")."""
    space = messages().Space()
    if host_name:
        space.hostnames.append(host_name.encode())
    for plane_name, lines in planes.items():
        plane = space.planes.add(name=plane_name.encode())
        names: dict[str, dict[str, int]] = {"event": {}, "stat": {}}

        def number(kind: str, text: str, known=names) -> int:
            return known[kind].setdefault(text, len(known[kind]) + 1)

        for index, (line_name, events) in enumerate(lines.items(), 1):
            line = plane.lines.add(id=index, name=line_name.encode(), timestamp_ns=1_000_000)
            for name, start_us, duration_us, stats in events:
                event = line.events.add(metadata_id=number("event", name))
                event.offset_ps, event.duration_ps = round(start_us * 1e6), round(duration_us * 1e6)
                for stat_name, value in stats.items():
                    stat = event.stats.add(metadata_id=number("stat", stat_name))
                    if isinstance(value, Ref):
                        stat.ref_value = number("stat", str(value))
                    elif isinstance(value, str):
                        stat.str_value = value.encode()
                    else:
                        stat.int64_value = value
        if capability and plane_name.startswith("/device:GPU:"):
            for fact, value in {"compute_cap_major": capability, **(facts or {})}.items():
                plane.stats.add(metadata_id=number("stat", fact), uint64_value=value)
        for kind, entries in (("event", plane.event_metadata), ("stat", plane.stat_metadata)):
            for text, key in names[kind].items():
                entry = entries.add(key=key)
                entry.value.id, entry.value.name = key, text.encode()
    return space.SerializeToString()


def step_marker(number: int, start_us: float, duration_us: float, **stats: object) -> Event:
    """The annotation that TensorFlow puts around a training step."""
    return ("train", start_us, duration_us, {"step_num": number, "_r": 1, **stats})


def kernel(tf_op: str, start_us: float, duration_us: float, name: str = "void cudnn::kernel") -> Event:
    """A kernel that runs for an operation."""
    return (name, start_us, duration_us, {"correlation_id": 7, "tf_op": Ref(tf_op), "kernel_details": "regs:32"})


def kernel_2_4(annotation: str, start_us: float, duration_us: float, name: str = "void cudnn::kernel") -> Event:
    """A kernel as TensorFlow 2.2 to 2.5 notes it: no `tf_op`, but its annotation, and that again without its tail."""
    levels = [level.partition("#")[0] for level in annotation.split("::")]
    stats = {"correlation_id": 7, "annotation": Ref(annotation), "kernel_details": Ref("regs:32 shm:0"), "is_eager": 0}
    return (
        name,
        start_us,
        duration_us,
        stats | {f"level {depth}": Ref(each) for depth, each in enumerate(levels) if each},
    )


def copy_2_4(start_us: float, duration_us: float, annotation: str = "", name: str = "MemcpyH2D") -> Event:
    """A copy as TensorFlow 2.2 to 2.5 notes it, for an operation or for none."""
    details = {"memcpy_details": "size:64 dest:0 async:1"}
    if not annotation:
        return (name, start_us, duration_us, {"correlation_id": 8, **details})
    event = kernel_2_4(annotation, start_us, duration_us, name)
    return (*event[:3], {**event[3], **details})


def gpu_step_2_4(network: str = "net") -> dict[str, dict[str, list[Event]]]:
    """`gpu_step` as TensorFlow 2.4 would have recorded it: the same times, and the step marked on the device."""
    planes = gpu_step(network)
    planes["/device:GPU:0"] = {
        "Stream #14(Compute)": [
            kernel_2_4(f"{network}/conv/Conv2D:Conv2D#shape=(float[8,32,32,3];float[3,3,3,8])#", 100, 10),
            kernel_2_4(f"{network}/conv/Conv2D:Conv2D", 110, 30, "void cutlass::kernel"),
            kernel_2_4(f"{network}/relu/Relu:Relu", 150, 5),
            ("Memset", 200, 10, {"correlation_id": 8}),
            kernel_2_4(f"gradient_tape/{network}/conv/Conv2DBackpropFilter:Conv2DBackpropFilter", 300, 60),
        ],
        "Stream #15(MemcpyH2D)": [
            copy_2_4(20, 4, "IteratorGetNext:MemcpyHToD#from=a,to=b#::#edge_name=edge_1#"),
            copy_2_4(400, 6),
        ],
        "TensorFlow Ops": [(f"{network}/conv/Conv2D:Conv2D", 100, 40, {"group_id": 1})],
        "Steps": [("1", 0, 500, {"group_id": 1, "step_name": "1"})],
    }
    return planes


def gpu_step(network: str = "net") -> dict[str, dict[str, list[Event]]]:
    """One step on one GPU; what it adds up to is `GPU_STEP_US`."""
    return {
        "/host:CPU": {
            "python": [
                step_marker(1, 0, 1000, batch_size=64),
                (f"{network}/conv/Conv2D:Conv2D", 100, 50, {}),
                (f"{network}/relu/Relu:Relu", 200, 50, {}),
                ("TFE_Py_ExecuteCancelable", 300, 500, {}),
            ],
            "tf_data": [("Iterator::Root::Prefetch", 10, 30, {}), ("Iterator::Root::Prefetch::BatchV2", 15, 20, {})],
        },
        "/device:GPU:0": {
            "Stream #14(Compute)": [
                kernel(f"{network}/conv/Conv2D:Conv2D", 100, 10),
                kernel(f"{network}/conv/Conv2D:Conv2D", 110, 30, "void cutlass::kernel"),
                kernel(f"{network}/relu/Relu:Relu", 150, 5),
                ("Memset", 200, 10, {"correlation_id": 8}),
                kernel(f"gradient_tape/{network}/conv/Conv2DBackpropFilter:Conv2DBackpropFilter", 300, 60),
            ],
            "Stream #15(MemcpyH2D)": [
                ("MemcpyH2D", 20, 4, {"tf_op": "IteratorGetNext:MemcpyHToD"}),
                ("MemcpyH2D", 400, 6, {}),
            ],
        },
        "Task Environment": {},
    }


#: Device idle: from 20 to 406 less 109 attributed; the host's threads: 150 - 100 and 30 - 30.
GPU_STEP_US = {
    "Device_Conv2D": 40,
    "Device_Conv2DBackpropFilter": 60,
    "Device_IDLE": 277,
    "Device_MemcpyHToD": 4,
    "Device_Relu": 5,
    "Host_Conv2D": 50,
    "Host_Dataset": 50,
    "Host_IDLE": 50,
    "Host_Relu": 50,
}
