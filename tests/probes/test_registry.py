import json
import re
import subprocess
import sys
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from analysis.campaigns.tables.tables import METRICS
from core.clock import SystemClock
from probes import kinds
from probes.records import Outcome, ProbeStatus, Target
from probes.registry import PROBES, configure, find_probe
from probes.schedule.cost import cost_of
from probes.schedule.schedule import Activity

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("probe", PROBES, ids=lambda p: p.NAME)
def test_every_probe_has_the_common_attributes(probe):
    assert isinstance(probe.NAME, str)
    assert isinstance(probe.VERSION, int)
    assert is_dataclass(probe.Config())
    assert {"allow", "deny"} <= set(probe.Config.__dataclass_fields__)
    assert Path(probe.__file__).read_text().count("\n") <= 180
    assert find_probe(probe.NAME) is probe


def test_every_module_of_a_probe_is_registered():
    """A module with a ``NAME`` is a probe; others of the folder serve one."""
    modules = {import_module(m.name) for m in iter_modules(kinds.__path__, "probes.kinds.")}
    assert {m.__name__ for m in modules if hasattr(m, "NAME")} == {p.__name__ for p in PROBES}


@pytest.mark.parametrize("probe", PROBES, ids=lambda p: p.NAME)
def test_every_probe_declares_a_cost(probe):
    cost = cost_of(Activity("a", probe.NAME, {}, 10.0))
    assert cost.requests >= 1
    assert cost.octets > cost.packets > 0


@pytest.mark.parametrize("probe", PROBES, ids=lambda p: p.NAME)
def test_every_probe_is_described_and_tested(probe):
    methods = (ROOT / "docs" / "methods" / "probes.md").read_text()
    assert f"\n| `{probe.NAME}` |" in methods, "a row in the table of docs/methods/probes.md"
    module = probe.__name__.rpartition(".")[2]
    tests = "\n".join(p.read_text() for p in Path(__file__).parent.glob("test_*.py"))
    assert re.search(rf"\b{module}\.run\(", tests), f"a test in tests/probes that runs {module}"


def test_metrics_of_campaigns_hold_the_probes_that_declare_them():
    """Analysis imports no probe, so both lists exist; imported results have names of theirs."""
    own = {probe.NAME for probe in PROBES}
    assert {p.METRIC for p in PROBES} - {""} <= {metric.id for metric in METRICS}
    for metric in METRICS:
        declared = {probe.NAME for probe in PROBES if metric.id == probe.METRIC}
        assert declared == own & set(metric.probes), f"METRICS of tables.py, {metric.id}"


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
