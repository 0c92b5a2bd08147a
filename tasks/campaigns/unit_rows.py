"""Build the unit of a finished campaign from the outcomes of one vantage point's runs."""

from collections.abc import Mapping
from typing import NamedTuple

from webapp.store.campaigns import units
from webapp.store.models import Campaign, CampaignUnit

_OK = "OK"


class Ended(NamedTuple):
    """Contents of a part: runs of a vantage point, by status."""

    kind: str
    vantage: str
    part: str
    by_status: Mapping[str, int]


def finished_unit(made: Campaign, key: str, ended: Ended) -> CampaignUnit:
    """A unit that spans the whole campaign; not yet saved."""
    runs = sum(ended.by_status.values())
    failed = {status: n for status, n in ended.by_status.items() if status != _OK}
    ok = runs - sum(failed.values())
    return CampaignUnit(
        campaign=made,
        key=key,
        activity=ended.kind,
        vantage=ended.vantage[:63],
        round=0,
        starts_s=0.0,
        ends_s=made.schedule["rounds"] * made.schedule["round_s"],
        slots=runs,
        state=units.State.DONE,
        attempt=1,
        rows={ended.kind: runs},
        part=ended.part,
        ok=ok,
        failed=runs - ok,
        counters={"failed": failed},
        finished_at=made.finished_at or made.started_at,
    )
