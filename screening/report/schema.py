"""The shape of an agent's report, version 1: every field with its bounds.

:func:`print_schema` gives the same as JSON Schema for the reference page.
"""

import json
from typing import Any

from screening.agent_parts.commands import SCHEMA
from screening.agent_parts.histograms import SLOTS
from screening.agent_parts.placement import PLACEMENT_FIELDS, PLACEMENT_PATTERN
from screening.report.validation import (
    NAME,
    Entries,
    Flag,
    Number,
    Numbers,
    Rows,
    Shape,
    Table,
    Text,
)

# A report of 128 virtual CPUs with 20,000 stalls has 3 MB.
MOST_BYTES = 8_000_000
MOST_CPUS = 512
MOST_STALLS = 60_000
# The hard limit of a run is 120 s, and a machine that stalls ends late.
LONGEST_S = 300.0
DAY_MS = 86_400_000.0
COUNT = 10**12

_whole = Number(0, COUNT, whole=True)
_ms = Number(0, DAY_MS)
_us = Number(0, DAY_MS * 1000)
_slots = Rows(Numbers(2, COUNT), SLOTS)

HOST: dict[str, Shape] = {
    "name": Text(253, NAME),
    "cpu_model": Text(200),
    "vcpus": Number(1, 65_536, whole=True),
    "kernel": Text(200),
    "machine": Text(64),
    "hypervisor": Text(200),
    "clock_source": Text(64),
    "cgroup": Number(0, 2, whole=True),
    "quota_cpus": Number(0, 65_536),
    "python": Text(64),
}
HOST_LATER: dict[str, Shape] = {
    "machine_id": Text(32, "^[0-9a-f]*$"),
    "addresses": Rows(Text(45, "^[0-9a-fA-F:.]+$"), 16),
    **dict.fromkeys(PLACEMENT_FIELDS, Text(64, PLACEMENT_PATTERN)),
}
CPU: dict[str, Shape] = {
    "cpu": Number(0, 65_535, whole=True),
    "mode": Text(6, "^(native|python)$"),
    "seconds": Number(0.1, LONGEST_S),
    "wakeups": _whole,
    "stalls_10ms": _whole,
    "p50_us": _us,
    "p99_us": _us,
    "p999_us": _us,
    "max_us": _us,
    "steal_ms": _ms,
    "run_delay_ms": _ms,
    "throttled_ms": _ms,
    "busy_ms": _ms,
    "own_ms": _ms,
    "own_share": Number(0, 100),
    "pinned": Flag(),
    "slack": Flag(),
    "causes": Table(Entries({"stalls": _whole, "ms": _ms}), 8),
    "histogram": _slots,
    "stalls": Rows(Numbers(5, COUNT), MOST_STALLS),
}
CALLS: dict[str, Shape] = {
    "server": Text(300),
    "rate": Number(1, 5000, whole=True),
    "seconds": Number(0.1, 3600),
    "calls": _whole,
    "answered": _whole,
    "lost": _whole,
    "late": _whole,
    "over_10ms": _whole,
    "p50_us": _us,
    "p99_us": _us,
    "p999_us": _us,
    "max_us": _us,
    "histogram": _slots,
}
_rate = Number(0, 1e9)
# From 2020 to 2100.
_at = Number(1_577_836_800, 4_102_444_800)
ROUND_ALWAYS: dict[str, Shape] = {"at": _at, "cpu_ms": _ms, "missing": Table(Text(200), 8)}
ROUND_VALUES = (
    "disk_read_mb_s",
    "disk_write_mb_s",
    "first_hop_ms",
    "three_hops_ms",
    "echo_32kb_ms",
)
ROUND_LISTS = ("disk_small_read_ms", "disk_small_write_ms")
ROUND: dict[str, Shape] = {
    **dict.fromkeys(ROUND_VALUES, _rate),
    **{name: Rows(_ms, 1000) for name in ROUND_LISTS},
    "disk_direct": Flag(),
    "disk_small_bytes": Number(512, 65_536, whole=True),
}

REPORT = Entries(
    {
        "schema": Text(40, f"^{SCHEMA}$"),
        "report_id": Text(32, "^[0-9a-f]{32}$"),
        "agent_version": Text(20, r"^[0-9.]+$"),
        "started_at": _at,
        "sleep_us": Number(10, 10_000, whole=True),
        "seconds": Number(1, LONGEST_S),
        "host": Entries(HOST, HOST_LATER),
        "cpus": Rows(Entries(CPU), MOST_CPUS),
    },
    {
        "notes": Rows(Text(500), 100),
        "reasons": Rows(Text(500), 100),
        "verdict": Text(12, "^(good|network-test|bad|not-enough)$"),
        "throttled_periods": _whole,
        "pressure_us": Table(Table(_whole, 4), 4),
        "network": Rows(Entries(CALLS), 1000),
        "battery": Rows(Entries(ROUND_ALWAYS, ROUND), 10_000),
    },
)


def print_schema() -> str:
    """JSON Schema (2020-12) of a report."""
    head: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "description": f"Report of the screening agent, at most {MOST_BYTES} bytes.",
    }
    return json.dumps({**head, **REPORT.schema()}, indent=1)
