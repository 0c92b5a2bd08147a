"""Logs as other versions, other writers and other options of the tools leave them."""

import base64
import json
import struct

import pytest

from core.errors import BadInput
from screening.log_readers import read_log
from screening.log_readers.hdr_histogram import decode_histogram
from screening.log_readers.summaries import summarise_log
from tasks.screening.uploaded_log import MOST_SERIES, summarise
from tests.screening.test_logs import pack

HEAD = "#[Logged with jHiccup version 2.0.7]\n#[Histogram log format version 1.2]\n"


def interval(values, scale, tag="", length="1.000"):
    """One line of a log as a writer that divides its longest value by ``scale``."""
    counts = [0] * (max(values) + 1)
    for value in values:
        counts[value] += 1
    return f"{tag}0.127,{length},{max(values) / scale:.3f},{pack(2, counts, True)}"


@pytest.mark.parametrize(("scale", "unit"), [(1e6, "ns"), (1e3, "us"), (1, "ms")])
def test_the_unit_of_an_interval_log_follows_from_the_longest_value_beside_it(scale, unit):
    # Two digits: up to 255 every value is kept as it is.
    (log,) = read_log((HEAD + interval([200] * 3, scale if scale < 1e6 else 1e4)).encode())
    wanted = unit if scale < 1e6 else "ns"
    assert (log.samples, log.unit) == (3, wanted)
    assert bool(log.notes) == (scale == 1e6)


def test_an_interval_log_with_spaces_tags_commas_and_other_endings():
    plain = interval([3, 5], 1)
    start, length, longest, payload = plain.split(",")
    comma = ",".join([*(part.replace(".", ",") for part in (start, length, longest)), payload])
    lines = [HEAD.strip(), f"  {plain} \t", comma, interval([7], 1, tag="Tag=a b,"), ""]
    logs = read_log("\r\n".join(lines).encode())
    assert [(log.name, log.samples, log.seconds) for log in logs] == [
        ("all", 4, 2.0),
        ("a b", 1, 1),
    ]
    assert not logs[0].rejected


def test_an_interval_log_without_a_readable_line_is_told_so():
    with pytest.raises(BadInput, match="it holds none"):
        read_log(HEAD.encode())
    with pytest.raises(BadInput, match="line 3: damaged histogram"):
        read_log(f"{HEAD}0.1,1.0,2.0,HISTFAAAAAA=\n".encode())
    with pytest.raises(BadInput, match="line 3: no interval"):
        read_log(f"{HEAD}0.1,1.0\n".encode())


def decode(body):
    head = struct.pack(">Iiiiqqd", 0x1C849313, len(body), 0, 2, 1, 1 << 62, 1.0)
    return decode_histogram(base64.b64encode(head + body).decode())


def test_counts_of_nine_bytes_and_runs_of_zeros():
    huge = (1 << 62) - 1
    number, body = huge << 1, b""
    while len(body) < 8:
        body += bytes([number & 0x7F | 0x80])
        number >>= 7
    # A run of three zeros (-3), then the huge count, then 1.
    assert decode(b"\x05" + body + bytes([number]) + b"\x02") == {3: huge, 4: 1}
    assert decode(b"") == {}
    for cut in (b"\x80", b"\x02\x80\x80"):
        with pytest.raises(BadInput, match="cut short"):
            decode(cut)


ALL_THREADS = """\
WARN: not setting cpu_dma_latency
policy: other/other: loadavg: 3.62 2.76 2.55 7/253 16477
T: 0 ( 1) P: 0 I:1000 C: 9 Min: 12 Act: 66 Avg: 74 Max: 85
\x1b[4Apolicy: other/other
# Histogram
000010 000004\t000002\t000006
000011 000001\t000003\t000004
# Total: 000000005 000000005 000000010
# Min Latencies: 00010 00010
# Avg Latencies: 00010 00010
# Max Latencies: 00900 00011 00900
# Histogram Overflows: 00002 00000 00002
# Thread 0: 00181 00324
"""


def test_cyclictest_with_a_column_for_all_threads_and_its_table():
    logs = read_log(ALL_THREADS.encode())
    assert [(log.name, log.samples, log.maximum) for log in logs] == [
        ("thread 0", 7, 900),
        ("thread 1", 5, 11),
    ]
    assert not logs[0].rejected
    indented = read_log(ALL_THREADS.replace("\n0", "\n  0").replace("\n#", "\n  #").encode())
    assert [log.samples for log in indented] == [7, 5]
    assert any("2 samples ran over" in reason for reason in summarise_log(logs[0])["reasons"])


def test_cyclictest_in_nanoseconds():
    text = ALL_THREADS.replace("00010 00010", "12345 13456").replace("00900", "9000000")
    assert [log.unit for log in read_log(text.encode())] == ["ns", "ns"]
    document = {
        "num_threads": 1,
        "resolution_in_ns": 1,
        "thread": {"0": {"histogram": {"26004": 3}, "cycles": 4, "max": 7_001_983}},
    }
    (log,) = read_log(json.dumps(document).encode())
    assert (log.unit, log.samples, log.overflows) == ("ns", 4, 1)
    document["thread"]["0"] = {"histogram": {}, "cycles": 4, "max": 5}
    with pytest.raises(BadInput, match="-h"):
        read_log(json.dumps(document).encode())


def test_a_histogram_that_was_appended_to_counts_both_runs():
    rows = "# Histogram\n000001 000004\n000002 000006\n"
    (log,) = read_log((rows + "# Min Latencies: 00001\n" + rows).encode())
    assert log.samples == 20
    assert log.values.tolist() == [1, 2]


def fio(kind, times, version="fio-3.33", direction="read", **part):
    job = {"jobname": "j", direction: {"iops": 100.0, "runtime": 10_000, kind: times} | part}
    return json.dumps({"fio version": version, "jobs": [job]}, indent=2)


STEPS = {"max": 6329, "percentile": {"50.000000": 243, "99.900000": 812, "0.00": 0}}


@pytest.mark.parametrize(
    ("text", "unit", "samples"),
    [
        (fio("clat", STEPS, "fio-2.1.11"), "us", 1000),
        (fio("clat", STEPS, "fio-2.2.10", total_ios=30_961), "us", 30_961),
        (fio("clat_ns", STEPS | {"N": 17}, total_ios=16), "ns", 17),
        (fio("lat_ns", STEPS, total_ios=16), "ns", 16),
        (fio("clat_ns", STEPS, direction="mixed", total_ios=16), "ns", 16),
        (
            "fio: a {warning}\n" + fio("clat_ns", STEPS, total_ios=3) + "\n\nj: (groupid=0)\n",
            "ns",
            3,
        ),
        (fio("clat_ns", STEPS, total_ios=3) + fio("clat_ns", STEPS, total_ios=9), "ns", 9),
    ],
)
def test_fio_of_every_version_and_around_its_document(text, unit, samples):
    (log,) = read_log(text.encode())
    assert (log.unit, log.samples, log.maximum) == (unit, samples, 6329)
    assert log.find_percentile(0.5) == 243
    if samples > 1000:
        assert log.find_percentile(0.999) == 812


def test_slots_of_the_second_version_of_fio():
    bins = {
        "127": 1,
        "128": 2,
        "200": 3,
        "1215": 4,
        "FIO_IO_U_PLAT_BITS": 6,
        "FIO_IO_U_PLAT_VAL": 64,
        "FIO_IO_U_PLAT_NR": 1216,
    }
    (log,) = read_log(fio("clat", {"max": 70_000, "bins": bins}, "fio-2.14").encode())
    # Middles as plat_idx_to_val of that version gives them.
    assert log.values.tolist() == [127, 129, 290, 16_711_680]
    assert log.counts.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "text",
    [
        fio("clat_ns", {"max": 5}, total_ios=9),
        fio("clat_ns", {"max": 5, "bins": {"-1": 3}}),
        fio("clat_ns", {"max": 5, "bins": {"1": -3}}),
        fio("clat_ns", STEPS)[:-9],
        '{"fio version": "fio-3.33", "jobs": "none"}',
        '"fio version"',
        fio("clat_ns", {"max": 5, "bins": {"1": 10**400}}),
        "[" * 100_000 + '"fio version"',
    ],
)
def test_fio_without_what_is_needed_is_one_error(text):
    with pytest.raises(BadInput):
        read_log(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "value,runtime,starttime,VM_id\n90.6,8.17,2024-06-06 13:03:42.410,0\n",
        '"VM_id","value","starttime"\n"0","90.6","2024-06-06T13:03:42.410Z"\n',
        "\ufeffvalue; starttime; vm_id\n90,6;1717679022,41;0\n",
        "Value\tStartTime\tVM_ID\n90.6\t1717679022410\t0\n",
        "value,starttime,VM_id\n90.6,2024-06-06 15:03:42.410+02:00,0\n\n",
        "value,starttime,VM_id\n90.6,2024-06-06 13:03:42.41 UTC,0 \nx,2024-06-06,0\n1,2024-06-06\n",
    ],
)
def test_noise_as_other_programs_write_their_tables(text):
    (log,) = read_log(text.encode())
    assert (log.name, log.samples, log.maximum) == ("VM 0", 1, 90.6)
    assert log.details["at"][0] == pytest.approx(1_717_679_022.41)


def test_a_log_of_bombs_is_given_up_as_a_whole():
    zeros = pack(2, [1] + [0] * 1_900_000, True)
    line = f"0.1,1.0,2.0,{zeros}\n"
    with pytest.raises(BadInput, match="more histograms than can be read"):
        read_log((HEAD + line * 60).encode())
    assert read_log((HEAD + line).encode())[0].samples == 1


def test_counts_and_values_beyond_all_bounds_are_damage():
    with pytest.raises(BadInput, match="beyond all bounds"):
        decode(b"\x02" * 20_000)
    many = pack(2, [0, 1 << 40], True)
    with pytest.raises(BadInput, match="a count beyond all bounds"):
        read_log(f"{HEAD}0.1,1.0,2.0,{many}\n".encode())


def test_a_table_of_machines_that_lived_for_minutes():
    lines = [f"{at % 7},2024-06-06 13:03:42,{at}" for at in range(12_000)]
    data = "\n".join(["value,starttime,VM_id", *lines]).encode()
    logs = read_log(data)
    assert len(logs) == sum(log.samples for log in logs) == 12_000
    rows = summarise(data)
    assert len(rows) == MOST_SERIES
    assert (rows[0]["name"], rows[0]["samples"], rows[0]["p50"]) == ("all 12,000", 12_000, 3)
    assert rows[1]["name"] == "VM 0"
