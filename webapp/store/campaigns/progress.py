"""Progress of campaigns: slots by outcome, in total, per vantage point and per round."""

import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.utils import timezone

from analysis.campaigns.tables.table_spec import MeasuredTable
from webapp.store.campaigns.services import elapsed_s
from webapp.store.models import Campaign, CampaignUnit

State = CampaignUnit.State
ENDED = (State.DONE, State.MISSED, State.FAILED)
_COUNTS = ("ok", "failed", "missed", "late")
_MOST_REASONS = 20
# Below this free disk space nothing is written.
_LEAST_ROOM_BYTES = 1_000_000


def progress(campaign: Campaign) -> dict[str, Any]:
    """Count slots and units by state; cheap enough to poll each second.

    An ended campaign returns its stored summary if that is complete.
    """
    kept: dict[str, Any] = campaign.summary.get("progress") or {}
    if not campaign.is_final or not kept:
        return _counted(campaign)
    units = kept.get("units", {})
    return kept if units.get("ended") == units.get("of") else _counted(campaign)


def _counted(campaign: Campaign) -> dict[str, Any]:
    units = campaign.units
    found = units.aggregate(
        all_slots=Sum("slots"),
        **{f"n_{name}": Sum(name) for name in _COUNTS},
        out=Sum("slots", filter=Q(state=State.SENT)),
        ended_units=Count("pk", filter=Q(state__in=ENDED)),
        all_units=Count("pk"),
        last_round=Max("round", filter=~Q(state=State.WAITING)),
    )
    planned = found["all_slots"] or campaign.predicted.get("probes", 0)
    counts = {name: found[f"n_{name}"] or 0 for name in _COUNTS}
    ended = counts["ok"] + counts["failed"] + counts["missed"]
    return {
        "planned": planned,
        **counts,
        "out": found["out"] or 0,
        "waiting": max(0, planned - ended - (found["out"] or 0)),
        "coverage": _share(counts["ok"] + counts["failed"], ended),
        "units": {"ended": found["ended_units"], "of": found["all_units"]},
        "round": None if found["last_round"] is None else found["last_round"] + 1,
        "rounds": campaign.schedule.get("rounds", 0),
        "trouble": find_blocker(campaign),
        **_times(campaign),
    }


def find_blocker(campaign: Campaign) -> str:
    """Return the reason why a campaign is blocked; empty if it is not.

    A full disk is checked each time, since it cannot be recorded.
    """
    if campaign.error or campaign.is_final:
        return campaign.error
    folders = [Path(settings.DATA_DIR), Path(settings.LAKE_DIR)]
    left = min(shutil.disk_usage(f).free for f in folders if f.is_dir())
    if left >= _LEAST_ROOM_BYTES:
        return ""
    return (
        f"the disk is full ({left:,} bytes are left): results wait where they are, and are taken "
        "in when there is room"
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _times(campaign: Campaign) -> dict[str, Any]:
    now = timezone.now()
    spent = max(0.0, elapsed_s(campaign, campaign.finished_at or now))
    whole = campaign.predicted.get("duration_s", 0.0)
    left = None if campaign.is_final else round(max(0.0, whole - spent), 1)
    return {"elapsed_s": round(spent, 1), "left_s": left}


def summary(campaign: Campaign) -> dict[str, Any]:
    """Build the stored summary: coverage, and reasons of failed and missed slots."""
    found = _counted(campaign)
    rows: Counter[str] = Counter()
    for counts in campaign.units.exclude(rows={}).values_list("rows", flat=True).iterator():
        rows.update(counts)
    return {
        "coverage": {
            **{k: found[k] for k in ("planned", *_COUNTS, "coverage")},
            "done": found["ok"] + found["failed"],
        },
        "progress": {**found, "left_s": None},
        "reasons": reasons(campaign),
        "rows": dict(rows),
        "vantages": _vantage_counts(campaign),
    }


def reasons(campaign: Campaign) -> dict[str, dict[str, int]]:
    """Count reasons of failed and missed slots, most frequent first."""
    failed: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    done = campaign.units.filter(state=State.DONE).exclude(counters={})
    for counters in done.values_list("counters", flat=True).iterator():
        failed.update(counters.get("failed", {}))
        missed.update(counters.get("missed", {}))
    given_up = campaign.units.filter(state__in=(State.MISSED, State.FAILED)).order_by()
    for error, slots in given_up.values_list("error").annotate(Sum("slots")):
        missed[error] += slots
    return {
        "failed": dict(failed.most_common(_MOST_REASONS)),
        "missed": dict(missed.most_common(_MOST_REASONS)),
    }


def _vantage_counts(campaign: Campaign) -> dict[str, int]:
    answering = campaign.units.filter(Q(ok__gt=0)).order_by().values("vantage").distinct().count()
    return {"of": len(campaign.vantages), "heard": answering}


def by_vantage(campaign: Campaign) -> list[dict[str, Any]]:
    """Count slots per vantage point by outcome."""
    return list(_grouped(campaign.units.all(), "vantage"))


def by_round(campaign: Campaign) -> list[dict[str, Any]]:
    """Count slots per round by outcome, for rounds with an ended unit."""
    return list(_grouped(campaign.units.filter(state__in=ENDED), "round"))


def _grouped(units: QuerySet[CampaignUnit], key: str) -> Iterable[dict[str, Any]]:
    rows = (
        units.order_by()
        .values(key)
        .annotate(
            n_slots=Sum("slots"),
            **{f"n_{name}": Sum(name) for name in _COUNTS},
            first=Min("due_at"),
            last=Max("finished_at"),
        )
    )
    for row in rows.order_by(key):
        counts = {name: row[f"n_{name}"] for name in _COUNTS}
        ended = counts["ok"] + counts["failed"] + counts["missed"]
        yield {
            key: row[key],
            "planned": row["n_slots"],
            **counts,
            "coverage": _share(counts["ok"] + counts["failed"], ended),
            "first": row["first"],
            "last": row["last"],
        }


def coverage_tables(campaign: Campaign) -> list[MeasuredTable]:
    """Build the coverage tables of a campaign."""
    return [
        _coverage_table("coverage", "vantage", by_vantage(campaign)),
        _coverage_table("coverage-rounds", "round", by_round(campaign)),
    ]


def _coverage_table(table_id: str, key: str, rows: list[dict[str, Any]]) -> MeasuredTable:
    columns = (key, "planned", *_COUNTS, "coverage")
    planned, failed, missed = (sum(r[c] for r in rows) for c in ("planned", "failed", "missed"))
    measured = sum(r["ok"] for r in rows) + failed
    headline = f"{measured:,} of {planned:,} planned slots were measured"
    if failed:
        headline += f", {failed:,} of them without a value"
    if missed:
        headline += f"; {missed:,} were missed"
    return MeasuredTable(
        table_id,
        columns,
        [[r[c] for c in columns] for r in rows],
        planned,
        headline,
        [] if measured + missed <= planned else [f"{table_id}: more slots ended than were planned"],
    )


def parts_named(campaign: Campaign) -> set[str]:
    """Return the manifest: names of committed parts."""
    rows = campaign.units.exclude(part="").order_by().values_list("part", flat=True)
    return set(rows.distinct())


def as_json(campaign: Campaign) -> dict[str, Any]:
    """Return the JSON document of a campaign."""
    return {
        "campaign": campaign.slug,
        "name": campaign.name,
        "state": campaign.state,
        "preset": campaign.preset,
        "synthetic": campaign.synthetic,
        "label": campaign.label,
        "created_at": campaign.created_at,
        "starts_at": campaign.starts_at,
        "started_at": campaign.started_at,
        "finished_at": campaign.finished_at,
        "vantages": len(campaign.vantages),
        "targets": len(campaign.targets),
        "seed": campaign.seed,
        "error": find_blocker(campaign),
        "progress": progress(campaign),
        "predicted": campaign.predicted,
        "summary": {k: v for k, v in campaign.summary.items() if k != "progress"},
    }
