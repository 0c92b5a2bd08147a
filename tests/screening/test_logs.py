"""Logs of other tools: figures as the tools themselves give them, damage told and never fatal."""

import base64
import gzip
import os
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import BadInput
from core.paths import PROJECT
from screening.log_readers import read_log
from screening.log_readers.hdr_histogram import decode_histogram
from screening.log_readers.summaries import summarise_file, summarise_log
from tests.examples import examples

SAMPLES = PROJECT / "fixtures" / "screening"
SHARED = Path(os.environ.get("NEPHOSCOPE_SHARED_DATA", PROJECT.parent / "shared" / "data"))
REAL = SHARED / "instance-screening"
real = pytest.mark.skipif(not REAL.is_dir(), reason="the real logs are not on this machine")


def read(name):
    return read_log((SAMPLES / name).read_bytes())


@real
def test_the_published_jhiccup_log():
    (log,) = read_log((REAL / "jHiccup-2.0.6.logV1.hlog").read_bytes())
    assert (log.histograms, log.samples) == (88, 65_964)
    assert log.find_percentile(0.999) == 1_829_765_119
    assert log.maximum == 1_888_485_375
    assert summarise_log(log)["verdict"] == "bad"


@real
def test_the_published_cyclictest_histogram():
    logs = read_log((REAL / "cyclictest-histogram.txt").read_bytes())
    assert len(logs) == 4
    summary = summarise_log(logs[0])
    assert summary["samples"] == 11_055_136
    assert [summary[key] for key in ("p50", "p99", "p999", "p9999", "max")] == [5, 6, 7, 9, 27]
    assert summary["unit"] == "us"
    assert summary["verdict"] == "good"


@real
def test_the_published_noise_of_machines():
    name = "azure-vm-noise-long-idle-memory-latency-ns.csv.gz"
    logs = read_log((REAL / name).read_bytes())
    lines = gzip.decompress((REAL / name).read_bytes()).decode().strip().split("\n")
    assert sum(log.samples + len(log.rejected) for log in logs) >= len(lines) - 1
    assert sum(log.samples for log in logs) == len(lines) - 1 - len(logs[0].rejected)


def test_a_log_of_version_2_as_its_reference_reads_it():
    (log,) = read("wakeups-v2.hlog")
    assert (log.histograms, log.samples, log.seconds) == (20, 4000, 20.0)
    found = [log.find_percentile(share) for share in (0.5, 0.99, 0.999, 1)]
    assert found == [98_367, 7_999_487, 55_607_295, 59_539_455]
    assert log.maximum == 59_539_455


def pack_counts(version, counts, width=4):
    if version == 2:
        return b"".join(pack_zigzag(count) for count in counts)
    return b"".join(count.to_bytes(width, "big") for count in counts)


def pack_zigzag(count):
    number, data = count << 1, b""
    while number > 0x7F:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])


def pack(version, counts, compressed):
    body = pack_counts(version, counts)
    cookie = {0: 0x1C849308, 1: 0x1C849301, 2: 0x1C849303}[version] | (0x40 if version < 2 else 16)
    if version == 0:
        head = struct.pack(">Iiqqq", cookie, 2, 1, 10**9, sum(counts))
    else:
        head = struct.pack(">Iiiiqqd", cookie, len(body), 0, 2, 1, 10**9, 1.0)
    data = head + body
    if compressed:
        outer = {0: 0x1C849309, 1: 0x1C849302, 2: 0x1C849304}[version] | 0x10
        packed = zlib.compress(data)
        data = struct.pack(">Ii", outer, len(packed)) + packed
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("compressed", [True, False])
def test_every_version_of_the_histogram(version, compressed):
    counts = [0, 3, 0, 0, *[0] * 252, 7, 0, 1]
    # Two digits: 256 values one by one, from there on two by two.
    assert decode_histogram(pack(version, counts, compressed)) == {1: 3, 256: 7, 260: 1}


def test_damaged_lines_are_counted_with_their_reason():
    good = pack(2, [0, 5], True)
    text = f"0.1,1.0,2.0,{good}\nrubbish\n1.1,1.0,2.0,{good[:-8]}\nTag=x,2.1,1.0,2.0,{good}\n"
    logs = read_log(text.encode())
    assert [(log.name, log.samples) for log in logs] == [("all", 5), ("x", 5)]
    assert [number for number, _ in logs[0].rejected] == [2, 3]
    assert any("2 lines" in reason for reason in summarise_log(logs[0])["reasons"])


def test_a_bomb_in_a_histogram_is_refused():
    bomb = zlib.compress(b"\0" * (1 << 27))
    data = struct.pack(">Ii", 0x1C849304 | 0x10, len(bomb)) + bomb
    with pytest.raises(BadInput):
        decode_histogram(base64.b64encode(data).decode())


def test_cyclictest_as_text_and_as_json():
    logs = read("cyclictest.txt")
    assert [log.name for log in logs] == ["thread 0", "thread 1"]
    assert logs[0].samples == 13_801 + logs[0].overflows
    assert logs[0].maximum == 12_041
    # 200 us are kept apart: whether the rest was 10 ms cannot be told.
    assert logs[0].count_from() is None
    assert summarise_log(logs[0])["verdict"] == "not-enough"
    (one,) = read("cyclictest.json")
    assert one.samples == 8_786
    assert one.maximum == 10_122


def test_a_total_that_disagrees_is_told():
    text = "# Histogram\n000001 000004\n000002 000006\n# Total: 000000012\n# Max Latencies: 00002\n"
    (log,) = read_log(text.encode())
    assert log.samples == 10
    assert "12" in log.notes[0]
    with pytest.raises(BadInput, match="columns"):
        read_log(b"# Histogram\n000001 4\n# Total: 4 5\n")


def test_fio_by_bins_and_by_percentiles():
    (log,) = read("fio.json")
    assert log.samples == 24_952
    # fio's own figure for the same share.
    assert log.find_percentile(0.99) == pytest.approx(1_187_840, rel=0.02)
    assert log.maximum == 12_868_348
    assert log.count_from() == 2
    assert summarise_log(log)["verdict"] == "not-enough"


def test_noise_by_machine():
    logs = read("vm-noise.csv")
    assert [log.name for log in logs] == ["VM 0", "VM 1", "VM 2"]
    assert all(log.samples == 120 for log in logs)
    broken = (SAMPLES / "vm-noise.csv").read_text() + "nan,1,2026-01-01,0\nx,1,2026-01-01,0\n"
    assert len(read_log(broken.encode())[0].rejected) == 2


def test_an_own_report_beside_the_others(sample):
    logs = read_log(sample)
    assert len(logs) == 2
    assert summarise_log(logs[0])["kind"] == "agent"
    (summary,) = summarise_file(gzip.compress(sample))
    needed = {
        "kind",
        "histograms",
        "samples",
        "p50",
        "p99",
        "p999",
        "max",
        "unit",
        "stalls_10ms",
        "seconds",
        "verdict",
        "reasons",
    }
    assert needed <= summary.keys()
    for name in ("cyclictest.txt", "fio.json", "vm-noise.csv", "wakeups-v2.hlog"):
        for each in summarise_file((SAMPLES / name).read_bytes()):
            assert needed <= each.keys()


def test_unknown_and_damaged_files_are_refused():
    for data in (b"", b"hello", b"\x1f\x8bxx", b'{"fio version": 1, "jobs": 3}', b"# Histogram\n"):
        with pytest.raises(BadInput):
            read_log(data)


names = st.sampled_from(sorted(path.name for path in SAMPLES.iterdir() if path.suffix != ".md"))


@settings(max_examples=examples(150), deadline=None)
@given(name=names, at=st.integers(0, 5000), junk=st.binary(max_size=12), cut=st.booleans())
def test_damage_anywhere_gives_a_log_or_one_error(name, at, junk, cut):
    data = (SAMPLES / name).read_bytes()
    at %= len(data)
    broken = data[:at] + junk + (b"" if cut else data[at + len(junk) :])
    try:
        logs = read_log(broken)
    except BadInput:
        return
    for log in logs:
        assert log.samples >= 0
        summarise_log(log)
