import json
import subprocess
import sys
from dataclasses import is_dataclass
from pathlib import Path

import pytest

from analysis.campaigns.tables.tables import LATENCY_PROBES
from core.clock import SystemClock
from probes.records import Outcome, ProbeStatus, Target
from probes.registry import PROBES, configure, find_probe
from probes.schedule.cost import cost_of
from probes.schedule.schedule import Activity

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("probe", PROBES, ids=lambda p: p.NAME)
def test_every_probe_has_the_silhouette(probe):
    assert isinstance(probe.NAME, str)
    assert isinstance(probe.VERSION, int)
    assert is_dataclass(probe.Config())
    assert {"allow", "deny"} <= set(probe.Config.__dataclass_fields__)
    assert Path(probe.__file__).read_text().count("\n") <= 180
    assert find_probe(probe.NAME) is probe


@pytest.mark.parametrize("probe", PROBES, ids=lambda p: p.NAME)
def test_every_probe_has_a_cost_and_a_row_in_the_readme(probe):
    cost = cost_of(Activity("a", probe.NAME, {}, 10.0))
    assert cost.requests >= 1
    assert cost.octets > cost.packets > 0
    assert f"`{probe.NAME}`" in (ROOT / "probes" / "README.md").read_text()


def test_each_probe_in_ms_counts_as_latency_or_is_named_here():
    """Tables of campaigns take round trips from ``LATENCY_PROBES`` alone."""
    others = {"http", "resolver", "game-query", "echo", "jitter", "traceroute"}
    in_ms = {probe.NAME for probe in PROBES if probe.UNIT == "ms"}
    assert in_ms - others <= set(LATENCY_PROBES)


@pytest.mark.parametrize("probe", PROBES, ids=lambda p: p.NAME)
@pytest.mark.parametrize("address", ["169.254.169.254", "10.0.0.1", "::1", "fe80::1"])
def test_no_probe_goes_where_it_must_not(probe, address):
    found = probe.run(Target(address, 80), probe.Config(), SystemClock())
    assert isinstance(found, Outcome)
    assert (found.status, found.values, found.probe) == (ProbeStatus.FORBIDDEN, (), probe.NAME)


@pytest.mark.parametrize("probe", PROBES, ids=lambda p: p.NAME)
def test_every_result_travels_as_json(probe):
    found = probe.run(Target("10.0.0.1", 80), probe.Config(), SystemClock()).as_json()
    again = json.loads(json.dumps(found))
    assert (again["probe"], again["status"]) == (probe.NAME, "FORBIDDEN")
    assert (again["target"]["host"], again["values"]) == ("10.0.0.1", [])


def test_names_are_unique_and_unknown_ones_are_refused():
    assert len({p.NAME for p in PROBES}) == len(PROBES)
    with pytest.raises(ValueError, match="there are tcp-ping"):
        find_probe("nope")


def test_plain_data_becomes_a_configuration():
    probe = find_probe("tcp-ping")
    config = configure(probe, {"count": 2, "allow": ["10.0.0.0/8"]})
    assert (config.count, config.allow) == (2, ("10.0.0.0/8",))
    with pytest.raises(ValueError, match="no option 'counts'"):
        configure(probe, {"counts": 2})


def test_probes_load_little():
    """A vantage point runs on small machines: no arrays, no DNS library, no database."""
    code = (
        "import sys, pathlib; import probes.registry; "
        "heavy = {'numpy', 'pyarrow', 'duckdb', 'numba', 'django', 'celery', 'dns'}; "
        "lines = pathlib.Path('/proc/self/status').read_text().splitlines(); "
        "peak = next(int(t.split()[1]) for t in lines if t.startswith('VmHWM')); "
        "print(sorted(heavy & set(sys.modules)), peak < 40_000)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.split() == ["[]", "True"]
