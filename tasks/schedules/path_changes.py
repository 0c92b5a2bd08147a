"""Changes of ISPs and paths between the runs of a schedule, and the cause of a changed latency."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from analysis.changes import isps, paths
from webapp.store.campaigns import selectors as campaigns
from webapp.store.models import Campaign, Schedule, ScheduleEvent, ScheduleRun
from webapp.store.schedules import kinds, services
from webapp.store.schedules.events import Change

# Hops of a change that are named; the rest are counted.
_NAMED_HOPS = 4


def campaign_changes(run: ScheduleRun, before: Campaign, max_runs: int) -> Iterator[Change]:
    """What changed of the ISPs of each region, and of the path of each pair."""
    if run.campaign is None:
        return
    yield from isp_changes(before, run.campaign)
    yield from path_changes(run, max_runs)


def isp_changes(before: Campaign, after: Campaign) -> Iterator[Change]:
    """Regions with other ISPs than in the campaign before."""
    sides = [campaigns.some_tables(side, "isp-shares") for side in (before, after)]
    rows = [side["isp-shares"].dicts() if "isp-shares" in side else [] for side in sides]
    for change in isps.changed_isps(*rows):
        subject = f"{change.provider}/{change.region}"
        detail = {"before": before.slug, "after": after.slug}
        was, now = (", ".join(side) for side in (change.before, change.after))
        yield Change(kinds.ISP, subject, was, now, detail=detail)


def path_changes(run: ScheduleRun, max_runs: int) -> Iterator[Change]:
    """Pairs of vantage point and region with a path that changed in this run permanently."""
    since = last_changes(run.schedule, kinds.PATH)
    after = _hops(run.campaign)
    if not after:
        return
    earlier = [(one, _hops(one.campaign)) for one in services.compared_until(run, max_runs - 1)]
    before = {
        series: paths.add_hops(
            hops[series]
            for one, hops in earlier
            if series in hops and one.due_at >= since.get(_pair(series), (one.due_at, 0))[0]
        )
        for series in after
    }
    found: dict[str, list[paths.PathChange]] = {}
    for change in paths.find_path_changes(before, after):
        found.setdefault(_pair(change.series), []).append(change)
    names = _networks(run.campaign, [c for own in found.values() for c in own])
    for subject, own in sorted(found.items()):
        most = min(own, key=lambda change: change.p_value)
        was, now = (_text(most, side, names) for side in ("before", "after"))
        detail = {
            "p_value": most.p_value,
            "error_rate": paths.FAMILY_ERROR_RATE,
            "hops": [hop.ttl for hop in most.hops],
            "n_before": min(hop.n_before for hop in most.hops),
            "n_after": min(hop.n_after for hop in most.hops),
            "n_targets": len({change.series.target for change in own}),
            "since": run.due_at.isoformat(),
            "after": run.campaign.slug if run.campaign else "",
        }
        yield Change(kinds.PATH, subject, was, now, detail=detail)


def with_cause(change: Change, campaign: Campaign, found: Sequence[Change]) -> Change:
    """A change of latency with what else changed of its pair, and whether that was measured."""
    region = change.subject.rpartition(" → ")[2]
    own = [c for c in found if c.kind == kinds.PATH and c.subject == change.subject]
    own += [c for c in found if c.kind == kinds.ISP and c.subject.endswith(f"/{region}")]
    if own:
        cause = "; ".join(f"{_NOUNS[c.kind]} changed from {c.before} to {c.after}" for c in own)
    elif campaigns.parts(campaign, "paths"):
        cause = "no change of its path or ISPs was found"
    else:
        cause = "not known: no path was measured"
    detail = {**change.detail, "cause": cause}
    return replace(change, after=f"{change.after} ({cause})", detail=detail)


_NOUNS = {kinds.PATH: "the path", kinds.ISP: "the ISPs of the region"}


def last_changes(schedule: Schedule, kind: str) -> dict[str, tuple[datetime, int]]:
    """The due time from which on each subject is as it is now, and the values before that there."""
    rows = ScheduleEvent.objects.filter(schedule=schedule, kind=kind)
    found = rows.order_by("id").values_list("subject", "detail")
    return {
        subject: (datetime.fromisoformat(detail["since"]), detail.get("skipped", 0))
        for subject, detail in found
        if "since" in detail
    }


def _pair(series: paths.Series) -> str:
    return f"{series.vantage} → {series.region}"


def _hops(campaign: Campaign | None) -> paths.Hops:
    return paths.count_hops(campaigns.parts(campaign, "paths")) if campaign else {}


def _networks(campaign: Campaign | None, changes: Iterable[paths.PathChange]) -> dict[str, str]:
    """The network of each address of some changes, where it is known."""
    asked = sorted({a for c in changes for hop in c.hops for a in (hop.before, hop.after)})
    if campaign is None or not asked:
        return {}
    rows = campaigns.read_table(campaign, "hops", None, {"address": asked}).to_pylist()
    return {row["address"]: row["ases"] or row["name"] or row["kind"] for row in rows}


def _text(change: paths.PathChange, side: str, names: dict[str, str]) -> str:
    """Hops of one side of a change: ``hop 5 192.0.2.1 (AS64500)``."""
    named = [
        f"hop {hop.ttl} {address}" + (f" ({names[address]})" if names.get(address) else "")
        for hop in change.hops[:_NAMED_HOPS]
        for address in [hop.before if side == "before" else hop.after]
    ]
    left = len(change.hops) - _NAMED_HOPS
    return ", ".join(named) + (f" and {left} more" if left > 0 else "")
