"""Results without a value, in the form of the product's own probes."""

from collections.abc import Mapping
from typing import Any

from probes.records import ProbeStatus

# Longest reason that a result keeps, in characters.
LONGEST_REASON = 200


def failed_result(
    network: str, head: Mapping[str, Any], status: ProbeStatus, reason: str
) -> dict[str, Any]:
    """Return a result that has no value; ``head`` has its probe, version and time."""
    return {
        "address": "",
        **head,
        "status": str(status),
        "reason": reason[:LONGEST_REASON],
        "sent": 1,
        "values": [],
        "method": network,
    }
