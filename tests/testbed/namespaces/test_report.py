"""What a run of the laboratory says of itself: also of what it could not measure, and why."""

from webapp.console.management.commands.lab import sentences


def path(vantage, instance, seen, measured=True):
    return {
        "vantage": vantage,
        "instance": instance,
        "ways": 1,
        "hops": 5,
        "measured": measured,
        "seen": seen,
        "wrong": 0,
    }


def found(paths, reasons):
    told = {"planned": 288, "reasons": reasons}
    return {
        "campaign": "six-by-four",
        "outwards": "outwards",
        "vantages": 14,
        "paths": paths,
        "latency": [{"difference_ms": 0.2, "median_off_ms": 0.1}],
        "isps": [{"equal": True}],
        "balancers": {"n": 9, "incomplete": 1, "risk": 0.01, "chance": 0.086},
        "failed": None,
        "progress": {"six-by-four": told, "outwards": {"planned": 96, "reasons": {}}},
    }


def test_a_path_that_was_not_measured_is_no_path_without_hops():
    paths = [path("berlin", "us-a", 5), path("saopaulo", "eu-a", 0, measured=False)]
    lines = list(sentences(found(paths, {"its time was over": 2})))
    assert "5 of 5 hops of all ways were found, 0 that are none" in lines
    assert "1 of 2 paths were not measured: saopaulo to eu-a" in lines
    assert any(line.startswith("1 of 9 balancers lack a next hop") for line in lines)
    assert "six-by-four: 2 of 288 slots were missed: its time was over" in lines


def test_complete_measurement_reports_no_missed_slots():
    lines = list(sentences(found([path("berlin", "us-a", 5)], {})))
    assert not [line for line in lines if "not measured" in line or "missed" in line]
