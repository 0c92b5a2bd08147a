"""Parse a report of this project's agent into one log per virtual CPU."""

import json

import numpy as np

from core.errors import BadInput
from screening.agent_parts.commands import SCHEMA
from screening.log_readers.records import Log
from screening.report.parsing import parse_report
from screening.statistics.histograms import find_middles_ms

# A file that is read here may be old; only reports that arrive at the site are checked against the
# clock.
ANY_TIME = 4_102_444_800.0


def is_report(text: str) -> bool:
    """Whether the agent wrote this."""
    return text.lstrip().startswith("{") and f'"{SCHEMA}"' in text


def read_report(text: str) -> list[Log]:
    """Read the sleeps of every virtual CPU; ``BadInput`` as from ``parse_report``."""
    report = parse_report(text.encode(), ANY_TIME)
    if not report.cpus:
        raise BadInput("the report holds no sleeps")
    return [
        Log(
            "agent",
            f"{report.host.name} CPU {cpu.cpu}",
            "us",
            1,
            find_middles_ms(cpu.histogram) * 1000,
            np.array([count for _, count in cpu.histogram], dtype=np.int64),
            cpu.max_us,
            cpu.seconds,
            details={"report": json.loads(text)},
        )
        for cpu in report.cpus
    ]
