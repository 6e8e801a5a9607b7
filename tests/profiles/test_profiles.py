"""Reading a profile: what is taken, and every hostile file refused in one line that says what to do."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import tracemalloc
import zipfile
import zlib

import pytest

from profet_cli.main import main
from profet_core import Profile, ProfileError, ProfileMeta, read_profile
from profet_profiles import limits, write_profile
from profet_profiles.limits import LIMITS
from profet_profiles.profet_json import MAX_LETTERS, profile_from_link_text, profile_to_link_text
from profet_profiles.xplane import messages
from tests.made.chrome_traces import op, tensorflow_trace, tf_event, trace
from tests.made.refused import refusal
from tests.made.xplane import xplane

OPERATIONS = {"Device_Conv2D": 51425.799, "Device_IDLE": 100.5, "Host_IDLE": 613483.756, "Host_Dataset": 0.0}
V1 = json.dumps(OPERATIONS).encode()
#: Version 1 covers two steps, a profile is of one.
ONE_STEP = {name: us / 2 for name, us in OPERATIONS.items()}
META = {
    "gpu": "Tesla M60",
    "framework": "TensorFlow 2.5",
    "precision": "FP32",
    "compiled": False,
    "channels_last": False,
    "batch_size": 16,
    "pixels": 224,
    "parameters": 138_357_544,
    "step_latency_ms": 122.4,
    "peak_memory_mib": 4096.5,
}
V2 = json.dumps({"operations": OPERATIONS, "meta": META}).encode()


def v1(**values: object) -> bytes:
    return json.dumps({"Device_Conv2D": 1.0, **values}).encode()


def v2_with_meta(meta: object) -> bytes:
    return json.dumps({"operations": OPERATIONS, "meta": meta}).encode()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(V1, id="object"),
        pytest.param(b"[" + V1 + b"]", id="list of one"),
        pytest.param(b"\xef\xbb\xbf" + V1, id="byte-order mark"),
        pytest.param(b" \r\n\t" + V1 + b"\n\n", id="white space around"),
        pytest.param(gzip.compress(V1), id="gzip"),
        pytest.param(gzip.compress(V1) + b"\x00" * 512, id="gzip padded with zeros"),
        pytest.param(json.dumps(OPERATIONS, indent=4).replace("\n", "\r\n").encode(), id="indented, CRLF"),
    ],
)
def test_version_1_is_read(data):
    profile = read_profile(data, "anything")
    assert dict(profile.operations) == ONE_STEP
    assert profile.source_format == "PROFET JSON, version 1"
    assert (profile.ignored, profile.meta) == ((), ProfileMeta())


@pytest.mark.parametrize("data", [V2, b"[" + V2 + b"]", gzip.compress(V2)], ids=["object", "list of one", "gzip"])
def test_version_2_is_read_with_its_meta(data):
    profile = read_profile(data)
    assert dict(profile.operations) == OPERATIONS
    assert profile.meta == ProfileMeta(**META)
    assert profile.source_format == "PROFET JSON, version 2"


def test_totals_are_sums_by_side_and_without_idle():
    profile = read_profile(V1)
    assert profile.device_total_us == pytest.approx(51_526.299 / 2)
    assert profile.host_total_us == pytest.approx(613_483.756 / 2)
    assert profile.busy_total_us == pytest.approx(51_425.799 / 2)
    with pytest.raises(TypeError):
        profile.operations["Device_Conv2D"] = 1.0


@pytest.mark.parametrize("meta", [None, {}, {"gpu": None}, {"gpu": "", "framework": "  "}])
def test_missing_or_empty_meta_is_none(meta):
    assert read_profile(v2_with_meta(meta)).meta == ProfileMeta()


def test_what_is_no_operation_or_meta_field_is_ignored_and_named_shortened_and_escaped():
    profile = read_profile(v1(**{"Device_": 3}, **{f"x{i}": 0 for i in range(8)}))
    assert dict(profile.operations) == {"Device_Conv2D": 0.5}
    assert profile.ignored == ("9 entries that are not operations: 'Device_', 'x0', 'x1', 'x2', 'x3', ...",)
    data = json.dumps({"operations": OPERATIONS, "meta": {"owner": "me", "batch_size": 8}, "notes": 1}).encode()
    profile = read_profile(data)
    assert profile.meta.batch_size == 8
    assert profile.ignored == ("1 unknown meta fields: 'owner'", "1 entries beside operations and meta: 'notes'")
    assert "Device_" + "x" * 100 not in refusal(v1(**{"Device_" + "x" * 100: -1}))
    assert "\\u202e" in refusal(b'{"\xe2\x80\xae": 1, "\xe2\x80\xae": 2}')


def _zip(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("profile.json", data)
    return buffer.getvalue()


def _gzip_bomb(size: int, start: bytes = b"", fill: bytes = b"\x00") -> bytes:
    """`start` and then `fill`, packed a megabyte at a time."""
    packer = zlib.compressobj(9, wbits=31)
    block = fill * 2**20
    parts = [packer.compress(start), *(packer.compress(block) for _ in range(size // len(block)))]
    return b"".join(parts) + packer.flush()


HOSTILE = {
    # name: (bytes, what the message says)
    "empty file": (b"", "empty. Upload the profile"),
    "white space": (b" \n\t\r\n", "empty. Upload the profile"),
    "byte-order mark alone": (b"\xef\xbb\xbf", "not a profile"),
    "gzip bomb, 100 MB of JSON": (_gzip_bomb(100 * 2**20, b'{"Device_A": 1', b" "), "more than 4 MB; a profile has a"),
    "truncated gzip": (gzip.compress(V1)[:-12], "truncated: compress or download it again"),
    "damaged gzip": (gzip.compress(V1)[:12] + b"\xff\xff\xff\xff" + gzip.compress(V1)[16:], "damaged: compress"),
    "gzip in gzip": (gzip.compress(gzip.compress(V1)), "compressed twice: unpack it once"),
    "two gzip members": (gzip.compress(V1) + gzip.compress(V1), "more than one file: unpack it"),
    "zip of text": (_zip(b"hello"), "the archive holds no profile among its 1 files: upload an xplane.pb"),
    "empty zip": (b"PK\x05\x06" + bytes(18), "the archive holds no profile among its 0 files"),
    "zip in gzip": (gzip.compress(_zip(V1)), "a nested archive, not a profile: unpack it"),
    "NaN": (b'{"Device_Conv2D": NaN}', "holds NaN, which is not a time: remove that operation or correct it"),
    "Infinity": (b'{"Device_Conv2D": Infinity}', "holds Infinity, which is not a time"),
    "beyond eleven days": (v1(Host_IDLE=1.1e12), "'Host_IDLE' is too large"),
    "negative": (v1(Device_Relu=-0.001), "'Device_Relu' is negative: times are 0 or more microseconds"),
    "bool": (v1(Device_Relu=True), "'Device_Relu' is true/false: every operation needs a number of microseconds"),
    "object for a number": (v1(Device_Relu={"us": 1}), "'Device_Relu' is dict: every operation needs a number"),
    "nested arrays": (b"[" * 200_000 + b"]" * 200_000, "nested too deeply"),
    "10,000-digit fraction": (b'{"Device_Conv2D": 9' + b"9" * 9_999 + b".5}", "too large to be the microseconds"),
    "two records": (b"[" + V1 + b"," + V1 + b"]", "holds 2 records: upload the profile of one step"),
    "JSON lines": (V1 + b"\n" + V1 + b"\n", "several JSON documents (JSON lines?): upload a single document"),
    "UTF-16 LE with mark": (b"\xff\xfe" + V1.decode().encode("utf-16-le"), "save it as UTF-8"),
    "UTF-32": (V1.decode().encode("utf-32"), "save it as UTF-8"),
    "Latin-1": (b'{"Device_Conv2D": 1, "caf\xe9": 2}', "not UTF-8 text: save it as UTF-8"),
    "duplicate key": (b'{"Device_Conv2D": 1, "Device_Conv2D": 2}', "'Device_Conv2D' appears twice: keep one"),
    "duplicate key, escaped": (b'{"Device_A": 1, "Device_\\u0041": 2}', "'Device_A' appears twice: keep one"),
    "1,001 operations": (json.dumps({f"Device_Op{i}": 1 for i in range(1_001)}).encode(), "1,000 operation types are"),
    "cut short": (V1[:-5], "not valid JSON (line 1, column"),
    "lone surrogate in a name": (b'{"Device_Conv2D": 1, "\\ud800": 1}', "half of a surrogate pair"),
    "lone surrogate in a list": (b'{"operations": {"Device_A": 1}, "x": ["a", ["\\uDFFF"]]}', "half of a surrogate"),
    "lone surrogate in meta": (v2_with_meta({"gpu": "\ud83d"}), "half of a surrogate pair"),
    "no operation": (b'{"a": 1}', "No operation was found: names look like Device_Conv2D"),
    "less than half a picosecond": (b'{"Device_Conv2D": 5e-7}', "took 0 microseconds: profile a training step"),
    "a number": (b"5", "not a profile: upload PROFET JSON"),
    "list of a number": (b"[5]", "This JSON is not a profile: expected"),
    "operations that are a list": (b'{"operations": [1]}', '"operations" must be an object of microseconds'),
    "meta that is a list": (v2_with_meta([]), '"meta" must be an object such as'),
    "batch size 0": (v2_with_meta({"batch_size": 0}), "batch_size must be a whole number of at least 1, not 0"),
    "batch size beyond reason": (v2_with_meta({"batch_size": 10**17}), "batch_size must be at most 1e+15"),
    "pixels true": (v2_with_meta({"pixels": True}), "pixels must be a whole number"),
    "latency 0": (v2_with_meta({"step_latency_ms": 0}), "step_latency_ms must be a number above 0, not 0"),
    "compiled as a number": (v2_with_meta({"compiled": 1}), '"meta": compiled must be true or false'),
    "GPU with a line break": (v2_with_meta({"gpu": "T4\nT4"}), '"meta": gpu must be a short text'),
    "GPU of 1,000 letters": (v2_with_meta({"gpu": "T" * 1000}), '"meta": gpu must be a short text'),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_refused_in_one_line_that_says_what_is_wrong(case):
    data, says = HOSTILE[case]
    tracemalloc.start()
    message = refusal(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50 * 2**20
    assert says in message and len(message) < 250


@pytest.mark.parametrize("name", ["a\nb.json", "\x1b[31mred\u2028", "x" * 500, "", "\ud800.json"])
def test_the_files_name_can_not_break_the_line(name):
    # All formats are named, and one name of at most 60 characters.
    assert "not a profile" in refusal(b"5", name)


FULL = Profile(
    {"Device_Conv2D": 0.1 + 0.2, "Host_IDLE": 613483.756, "Device__FusedConv2D": 0.0},
    ProfileMeta("T4", "TensorFlow 2.21", "fp32", False, 64, 224, 25_000_000, 122.4, 8000.5),
    source_format="somewhere",
    ignored=("model/secret_layer",),
    steps=3,
    warnings=("The trace was cut.",),
)


def test_what_is_written_reads_back_but_for_format_and_ignored(samples):
    read = read_profile(write_profile(FULL))
    assert dict(read.operations) == dict(FULL.operations)
    assert (read.meta, read.warnings) == (FULL.meta, FULL.warnings)
    # What is written is of one step, however many the profile was the mean of.
    assert (read.steps, read.steps_basis) == (1, "stated")
    assert json.loads(write_profile(FULL))["meta"]["steps"] == 1
    assert (read.ignored, read.source_format) == ((), "PROFET JSON, version 2")
    refused = Profile({"Device_Conv2D": 1.0}, refusal="The step was cold: record a later one.")
    assert read_profile(write_profile(refused)).refusal == refused.refusal
    unsure = Profile({"Host_IDLE": 1.0}, steps_basis="assumed")
    assert json.loads(write_profile(unsure)) == {"operations": {"Host_IDLE": 1.0}, "meta": {}}
    assert read_profile(write_profile(unsure)).steps_basis == "assumed"
    nulls = b'{"operations": {"Host_IDLE": 1.0}, "meta": {"steps": null}, "warnings": null}'
    assert read_profile(nulls).operations == unsure.operations
    for sample in samples.values():
        assert read_profile(write_profile(sample.profile)) == sample.profile


@pytest.mark.parametrize(
    "profile",
    [
        Profile({"Device_Conv2D": float("nan")}),
        Profile({"Conv2D": 1.0}),
        Profile({"Device_Conv2D": 1.0, "my layer": 2.0}),
        Profile({"Device_Conv2D": 1.0}, warnings=("two\nlines",)),
        Profile({}),
    ],
    ids=["not a number", "no side", "a layer's name", "two lines", "empty"],
)
def test_what_could_not_be_read_is_not_written(profile):
    with pytest.raises(ProfileError) as caught:
        write_profile(profile)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"meta": {"steps": 0}}, '"meta": steps must be a whole number of at least 1'),
        ({"meta": {"steps": 1.5}}, '"meta": steps must be a whole number'),
        ({"meta": {"steps": 10_001}}, '"meta": steps says 10,001: record fewer'),
        ({"steps": 3}, 'The number of steps belongs in "meta"'),
        ({"refusal": 5}, '"refusal" must be text'),
        ({"refusal": "x" * 501}, '"refusal" must be text of at most 500 characters'),
        ({"warnings": "cut"}, '"warnings" must be a list of at most 20 texts'),
        ({"warnings": ["\n"]}, '"warnings" must be a list'),
        ({"warnings": ["x"] * 21}, '"warnings" must be a list'),
    ],
)
def test_steps_and_warnings_of_a_file_are_checked(entry, says):
    assert says in refusal(json.dumps({"operations": {"Host_IDLE": 1.0}, **entry}).encode())


def packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(data)).decode().rstrip("=")


def test_a_profile_reads_back_from_a_link_of_a_thousand_letters_unless_it_is_too_long(samples):
    for sample in samples.values():
        text = profile_to_link_text(sample.profile)
        assert 500 < len(text) < 1_200 and text.replace("-", "").replace("_", "").isalnum()
        read = profile_from_link_text(text)
        assert (dict(read.operations), read.meta) == (dict(sample.profile.operations), sample.profile.meta)
        assert (read.steps, read.steps_basis) == (sample.profile.steps, sample.profile.steps_basis)
    read = profile_from_link_text(profile_to_link_text(FULL))
    assert (dict(read.operations), read.meta, read.warnings) == (dict(FULL.operations), FULL.meta, FULL.warnings)
    assert (read.steps, read.steps_basis) == (1, "stated")
    profile = read_profile(b'{"Device_Conv2D": 51425.8, "Host_IDLE": 613483.8}')
    read = profile_from_link_text(profile_to_link_text(profile))
    assert read == profile and read.steps == 2
    crowd = Profile({f"Device_Operation{number * 7919 % 10_000}": float(number) for number in range(900)})
    assert profile_to_link_text(crowd) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "äöü",
        "AAAA",
        packed(write_profile(FULL))[:-9],
        packed(write_profile(FULL)) + "AAAA",
        packed(b" " * 2**20),
        "A" * (MAX_LETTERS + 1),
    ],
    ids=["empty", "no letter", "no zlib", "cut", "too much", "unpacks to a megabyte", "too long"],
)
def test_a_link_that_was_cut_or_changed_gets_one_line(text):
    with pytest.raises(ProfileError, match=r"^The profile in this link can't be read.*\.$"):
        profile_from_link_text(text)
    with pytest.raises(ProfileError, match="'Device_Conv2D' is negative"):
        profile_from_link_text(packed(b'{"Device_Conv2D": -1}'))


ONE = trace([op("aten::mm", 0, 1)])


def test_every_bound_is_listed_once_and_a_small_upload_has_less_time(monkeypatch):
    assert len({limit.what for limit in LIMITS}) == len(LIMITS)
    assert all(limit.maximum > 0 and limit.unit for limit in LIMITS)
    monkeypatch.setattr("profet_profiles.unpacking.MAX_SMALL_SECONDS", -1.0)
    assert "of processor time and was stopped" in refusal(ONE)
    monkeypatch.setattr("profet_profiles.unpacking.SMALL_BYTES", 10)
    assert read_profile(ONE).steps == 1


@pytest.mark.parametrize(
    "data",
    [
        trace([op("aten::mm", at, 1) for at in range(11)]),
        tensorflow_trace([tf_event("a:Mul", at, 1) for at in range(11)]),
        xplane({"/host:CPU": {"t": [("a:Mul", at, 1, {}) for at in range(11)]}}),
    ],
)
def test_operations_of_a_trace_have_a_bound(monkeypatch, data):
    monkeypatch.setattr(limits, "MAX_KEPT_EVENTS", 10)
    assert "more than 10 operations" in refusal(data)


@pytest.fixture(scope="module")
def files(repository):
    """Content by name, unpacked, without the README."""
    paths = sorted((repository / "sample_traces" / "formats").iterdir())
    raw = {path.name: path.read_bytes() for path in paths if path.name != "README.md"}
    return {name: gzip.decompress(data) if name.endswith(".gz") else data for name, data in raw.items()}


def test_the_files_are_listed_and_name_no_machine_and_profiles_no_layer(files, repository):
    folder = repository / "sample_traces" / "formats"
    rows = re.findall(r"^\| `([^`]+)` \|", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(files)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 300_000
    for name, data in files.items():
        text = data.decode("utf-8", "replace")
        assert not re.search(r"/(?:home|root|tmp|work|usr|opt|var|Users)/|\b\d{1,3}(?:\.\d{1,3}){3}\b", text), name
        assert not re.search(r"\b(?:localhost|vm|hostname)\b", text), name
        if "xplane" in name:
            space = messages().Space.FromString(data)
            assert list(space.hostnames) == [] and [plane.name for plane in space.planes] == [b"/host:CPU"]
    assert {
        name for name, data in files.items() if b"secret" not in data and name.startswith(("tensorflow", "profet"))
    } == {"profet-version-1.json", "profet-version-2.json", "tensorflow_cpu_profile.json"}


def test_version_2_is_what_convert_makes_of_the_step(files, repository, capsys):
    trace = repository / "sample_traces" / "formats" / "tensorflow-step.xplane.pb"
    options = ["-o", "-", "--batch-size", "16", "--pixels", "32", "--precision", "fp32"]
    assert main(["convert", str(trace), *options]) == 0
    assert capsys.readouterr().out.encode() == files["profet-version-2.json"]
    assert read_profile(files["profet-version-1.json"]).operations == read_profile(trace.read_bytes()).operations
