"""``screening``: files of every kind are judged, pools simulated, made and chosen from."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.shared import shared_file
from webapp.store.screening.ingest import find_grant, read_arrival, store_arrivals

SAMPLES = Path(__file__).resolve().parents[2] / "fixtures" / "screening"


def run(*words):
    out = StringIO()
    call_command("screening", *map(str, words), stdout=out, stderr=StringIO())
    return out.getvalue()


def lines(*words):
    return [json.loads(line) for line in run(*words, "--json").splitlines()]


@pytest.fixture(autouse=True)
def store(db, settings, tmp_path):
    settings.DATA_DIR = tmp_path


def test_every_file_has_a_line_with_figures_in_its_own_unit():
    names = ("report.json", "cyclictest.txt", "wakeups-v2.hlog", "fio.json", "vm-noise.csv")
    found = lines("verdict", *(SAMPLES / name for name in names))
    kinds = [row["kind"] for row in found]
    assert kinds == ["agent", "cyclictest", "hdrhistogram", "fio", "vm-noise"]
    wanted = {
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
        "path",
        "series",
    }
    for row in found:
        assert wanted <= set(row)
        assert all(each["kind"] == row["kind"] for each in row["series"])
    assert found[0]["verdict"] == "bad"
    text = run("verdict", SAMPLES / "report.json")
    assert "bad" in text.splitlines()[0]


def test_marks_move_the_verdict():
    (row,) = lines("verdict", SAMPLES / "report.json", "--low", 900, "--high", 2000)
    assert row["verdict"] in ("good", "not-enough")
    with pytest.raises(CommandError, match="LOW"):
        run("verdict", SAMPLES / "report.json", "--low", 70)


def test_what_is_no_log_is_refused_with_its_reason(tmp_path):
    (tmp_path / "x").write_text("hello")
    with pytest.raises(CommandError, match="unknown log"):
        run("verdict", tmp_path / "x")
    with pytest.raises(CommandError, match="cannot read"):
        run("verdict", tmp_path / "absent")


def test_figures_of_real_logs():
    (hiccup,) = lines("verdict", shared_file("instance-screening/jHiccup-2.0.6.logV1.hlog"))
    assert (hiccup["histograms"], hiccup["samples"]) == (88, 65_964)
    assert (hiccup["p999"], hiccup["max"]) == (1_829_765_119, 1_888_485_375)
    (row,) = lines("verdict", shared_file("instance-screening/cyclictest-histogram.txt"))
    assert row["name"] == "thread 0"
    assert row["samples"] == 11_055_136
    assert [row[name] for name in ("p50", "p99", "p999", "p9999", "max")] == [5, 6, 7, 9, 27]


def test_a_simulated_pool_errs_as_published():
    (found,) = lines("simulate", "--instances", 4000, "--trials", 20_000)
    assert found["false_positive"] < 0.1
    assert found["false_negative"] == pytest.approx(0.3, abs=0.05)
    assert found["effective_false_negative"] < 0.1
    assert found["factor"]["low"] < found["factor"]["k"] < found["factor"]["high"]
    assert [curve["fan_out"] for curve in found["payoff"]["curves"]] == [1, 10, 20, 40]
    first, *_, last = found["payoff"]["curves"][0]["points"]
    assert last["p99_ms"] > 2 * first["p99_ms"]
    assert "K =" in run("simulate", "--trials", 0)
    with pytest.raises(CommandError, match="bad_share"):
        run("simulate", "--bad-share", 2)


def test_the_operator_makes_a_pool_chooses_from_it_and_analyses_it():
    (made,) = lines("new-pool", "lab", "--wanted", 1)
    body = (SAMPLES / "report.json").read_bytes()
    store_arrivals([read_arrival(find_grant(made["token"]), body)])
    (row,) = lines("pools")
    assert (row["key"], row["verdicts"]["bad"]) == (made["pool"], 1)
    (choice,) = lines("choose", made["pool"])
    assert choice["chosen"] == []
    assert choice["missing"] == 1
    assert "cause" in run("findings", made["pool"])
    (more,) = lines("token", made["pool"], "--days", 1)
    assert find_grant(more["token"]).key == made["pool"]
    with pytest.raises(CommandError, match="no pool"):
        run("choose", "nothing")
