"""What a campaign's plan and progress are called in sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from webapp.pages.ui import formatting
from webapp.store.models import Campaign

# The field of the form that a refusal is shown beside; others stand above the form.
FIELDS = {
    "targets": "targets",
    "vantages": "vantages",
    "rounds": "rounds",
    "round_s": "round_minutes",
    "seed": "seed",
    "starts_at": "starts_at",
    "preset": "preset",
    "schedule": "preset",
}


def plan_sentence(predicted: dict[str, Any]) -> str:
    """What a plan would do, in one line."""
    return (
        f"{formatting.count(predicted['probes'])} probes between "
        f"{_many(predicted['vantages'])} and "
        f"{formatting.count(predicted['targets'])} target{_s(predicted['targets'])}, "
        f"{formatting.size(predicted['octets'])}, {formatting.duration(predicted['duration_s'])}"
    )


def _many(vantages: int) -> str:
    return f"{formatting.count(vantages)} vantage point{_s(vantages)}"


def _s(number: int) -> str:
    return "" if number == 1 else "s"


def state_sentence(row: Campaign, found: dict[str, Any]) -> str:
    """How far a campaign is, in one line with its number."""
    ended = found["ok"] + found["failed"] + found["missed"]
    planned = f"{formatting.count(found['planned'])} slots are planned"
    if row.state == Campaign.State.WAITING:
        when = f", not before {row.starts_at:%Y-%m-%d %H:%M} UTC" if row.starts_at else ""
        return f"Waiting to begin{when}: {planned}"
    if row.state == Campaign.State.FAILED:
        return "It could not go on"
    if row.is_final and row.started_at is None:
        were = planned.replace(" are ", " were ")
        return f"Stopped before it began: {were}"
    if not ended:
        return f"Begun: {planned}"
    so_far = "" if row.is_final else " so far"
    status = (
        f"{formatting.count(found['ok'] + found['failed'])} of {formatting.count(ended)} "
        f"slots{so_far} were measured{formatting.bracket(found['coverage'], ended)}"
    )
    return f"Paused: {status}" if row.state == Campaign.State.PAUSED else status


def coverage_sentence(listed: Sequence[Mapping[str, Any]]) -> str:
    """Who measured how much of what is over, in one line; the one with least is named."""
    known = [row for row in listed if row["coverage"] is not None]
    if not known:
        return "By vantage point"
    number = f"{formatting.count(len(listed))} vantage point{_s(len(listed))}"
    least = min(known, key=lambda row: (row["coverage"], row["vantage"]))
    if least["coverage"] == 1:
        return f"{number} missed no slot" if len(listed) > 1 else f"{least['vantage']} missed none"
    partly = sum(row["coverage"] < 1 for row in known)
    share = formatting.share_of(
        least["coverage"], sum(least[k] for k in ("ok", "failed", "missed"))
    )
    return (
        f"{formatting.count(partly)} of {number} missed slots: {least['vantage']} measured {share}"
    )
