"""The front page of screening, and logs of other tools that are read without an account."""

import gzip
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from webapp.pages.screening import formatting as words
from webapp.pages.screening import headlines as findings
from webapp.pages.ui.charts.plot import Plot
from webapp.pages.ui.charts.svg import Axis, decade_ticks, round_ticks

pytestmark = pytest.mark.django_db
CYCLICTEST = """# /dev/cpu_dma_latency set to 0us
# Histogram
000001 000000
000002 000900
000003 000099
012000 000001
# Total: 000001000
# Min Latencies: 00002
# Avg Latencies: 00002
# Max Latencies: 12000
# Histogram Overflows: 00000
"""


def send(client, data, name="log.txt"):
    return client.post("/screening/log/", {"log": SimpleUploadedFile(name, data)})


def test_it_works(client):
    text = client.get("/screening/").content.decode()
    assert "Simulated fleet" in text
    assert "of the bad ones are missed" in text
    assert "no evidence about other clouds" in text


def test_a_log_is_read_without_an_account(client):
    page = send(client, CYCLICTEST.encode())
    text = page.content.decode()
    assert page.status_code == 200
    assert "12,000" in text
    assert "not stored" in text
    packed = send(client, gzip.compress(CYCLICTEST.encode()))
    assert packed.context["rows"] == page.context["rows"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"hello", "unknown log"),
        (b"", "unknown log"),
        (b"\x1f\x8bnot gzip", "damaged"),
        (gzip.compress(b"0" * 40_000_000, mtime=0), "when unpacked"),
        (b"0" * 8_000_001, "at most 8 mb"),
        (json.dumps({"schema": "nephoscope.screening/1"}).encode(), "missing"),
    ],
)
def test_what_is_no_log_is_refused(client, data, words):
    page = send(client, data)
    assert page.status_code == 422
    assert words in page.content.decode().lower() or data == b""


def test_no_file_is_said(client):
    assert "choose a file" in client.post("/screening/log/").content.decode().lower()


class _Row:
    def __init__(self, verdict, cause="", truth=""):
        self.verdict, self.cause, self.truth = verdict, cause, truth


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "No machine has reported yet"),
        ([_Row("good")], "The one instance is good"),
        ([_Row("good")] * 3, "All 3 instances are good"),
        ([_Row("bad", "steal")], "The one instance has long-tail neighbours"),
        ([_Row("bad", "steal")] * 2, "All 2 instances have long-tail neighbours"),
        ([_Row("bad", "quota"), _Row("good")], "1 of 2 instances is slowed by its own quota"),
        (
            [_Row("bad", "steal")] * 2 + [_Row("bad", "unexplained"), _Row("good")],
            "3 of 4 instances are slow: 2 by neighbours, 1 unexplained",
        ),
        ([_Row("not-enough")] * 2, "2 instances, none measured for long enough to tell"),
        ([_Row("good"), _Row("network-test")], "1 of 2 instances is good, none is surely bad"),
        ([_Row("good", truth="bad"), _Row("good")], "1 of 2 instances is slow when others call it"),
        ([_Row("bad", "steal"), _Row("good", truth="bad")], "1 by neighbours, 1 when called"),
        ([_Row("bad", "steal", truth="good"), _Row("good")], "All 2 instances are good"),
    ],
)
def test_a_headline_is_a_finding(rows, said):
    assert said in findings.pool_headline(rows)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0625, "62\u202fµs"),
        (8.4, "8.40\u202fms"),
        (15.9, "15.9\u202fms"),
        (1240, "1,240\u202fms"),
        (0, "0\u202fms"),
        (None, "–"),
        (float("nan"), "–"),
        (12_345, "12.3\u202fs"),
    ],
)
def test_times_keep_three_digits(value, text):
    assert words.ms(value) == text


def test_scales_and_ticks():
    assert round_ticks(0, 50, 5) == [0, 10, 20, 30, 40, 50]
    assert decade_ticks(0.05, 20) == pytest.approx([0.1, 1, 10])
    assert Axis(1, 100, is_log=True).fraction(10) == pytest.approx(0.5)
    plot = Plot("x", Axis(0, 10), Axis(0, 10))
    plot.label_ends([(5.0, "a", "one"), (5.01, "b", "two"), (9.99, "c", "three")])
    heights = [float(mark.y[:-1]) for mark in plot.end_labels]
    assert all(b - a >= 6 for a, b in zip(heights, heights[1:], strict=False))
