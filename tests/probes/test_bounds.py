"""What one run of a probe may take, so that nobody keeps a vantage point from all others."""

import pytest

from core.errors import BadInput
from probes.registry import PROBES
from probes.schedule.bounds import LONGEST_RUN_S, longest_run_s
from probes.schedule.presets import preset_data, preset_names
from probes.schedule.schedule import read_schedule


def schedule(probe, **options):
    return read_schedule({"activities": [{"probe": probe, "options": options}]})


@pytest.mark.parametrize(
    ("probe", "options", "why"),
    [
        ("tcp-ping", {"timeout_s": 1e9}, "timeout_s"),
        ("tcp-ping", {"timeout_s": float("nan")}, "timeout_s"),
        ("tcp-ping", {"count": -1}, "count"),
        ("tcp-ping", {"count": 10**9}, "count"),
        ("tcp-ping", {"count": 5_000}, "one run may take 10,000 s"),
        ("icmp-echo", {"size": 10**6}, "size"),
        ("icmp-echo", {"count": 100, "interval_s": 60.0}, "one run may take"),
        ("throughput", {"octets": 10**10}, "octets"),
        ("traceroute", {"timeout_s": 60.0, "window": 1, "max_ttl": 255}, "one run may take"),
        ("traceroute", {"timeout_s": 60.0, "mda": True}, "one run may take"),
        ("http", {"ca_file": "/etc/passwd"}, "ca_file"),
        ("jitter", {"count": 10_000, "interval_s": 1.0}, "one run may take"),
    ],
)
def test_what_would_take_too_long_is_refused(probe, options, why):
    with pytest.raises(BadInput, match=why):
        schedule(probe, **options)


def test_usual_options_stay_well_below():
    for probe in PROBES:
        assert 0 < longest_run_s(probe.Config()) <= 120
    for name in preset_names():
        assert read_schedule(preset_data(name)).activities
    assert schedule("jitter", count=10_000).activities
    assert longest_run_s(PROBES[0].Config(count=450)) == LONGEST_RUN_S
