"""How many addresses each cloud name has (Figures 10a and 10b), by region."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from testbed.apportion import apportion
from testbed.drafts import Draft

# Front ends whose address counts the study gives no figure for take what their zones ask.
FLEXIBLE = frozenset({"unclassified", "heroku"})
FLEXIBLE_MAX = 3
# Above this share of a region's zones per name, names with one address would be too many.
_CROWDED = 0.7
_BY_TABLE = {"vm": "vm", "elb": "elb", "beanstalk": "elb", "heroku-elb": "elb"}


def set_counts(drafts: Sequence[Draft], section: Mapping[str, Any], rng: random.Random) -> None:
    """Set ``count`` of every draft of one provider that has none yet."""
    tables = section.get("instances", {})
    need = {r["code"]: _zones_per_name(r) for r in section["regions"]}
    for label in dict.fromkeys(d.label for d in drafts):
        open_ones = [d for d in drafts if d.label == label and not d.count]
        table = tables.get(_BY_TABLE.get(label, ""))
        if table:
            _deal(open_ones, table, need, rng)
        elif label == "heroku":
            _pin(open_ones, float(section["shared_heroku"]), rng)
        for draft in open_ones:
            draft.count = max(draft.count, len(draft.regions))


def _zones_per_name(region: Mapping[str, Any]) -> tuple[float, bool]:
    """Mean identified zones of a name (Tables 10 and 12), and whether nearly all use all."""
    zones = region.get("zone_names", ())
    mean = float(sum(zones) * 1000 / region["names"])
    return mean, mean > _CROWDED * len(zones)


def _deal(
    drafts: list[Draft], table: Sequence[Sequence[int]], need: Mapping[str, tuple[float, bool]],
    rng: random.Random,
) -> None:  # fmt: skip
    """Deal the figure's counts; where names use many zones or regions they get the larger."""
    parts = apportion(len(drafts), [share for _, share in table])
    counts = [n for (n, _), part in zip(table, parts, strict=True) for _ in range(part)]

    def wish(draft: Draft) -> float:
        if len(draft.regions) > 1:
            return 100.0 * len(draft.regions)
        wanted, crowded = need[draft.regions[0]]
        return wanted * rng.uniform(1.0 if crowded else 0.7, 1.3)

    for draft, count in zip(sorted(drafts, key=wish), sorted(counts), strict=True):
        draft.count = count


def _pin(drafts: list[Draft], share: float, rng: random.Random) -> None:
    """Let a share of names stand behind one common name of the platform."""
    for draft in rng.sample(drafts, round(len(drafts) * share)):
        draft.pinned = True


def per_region(draft: Draft) -> list[int]:
    """The addresses of a draft, spread evenly over its regions."""
    if draft.label in FLEXIBLE:
        return [FLEXIBLE_MAX] * len(draft.regions)
    whole, rest = divmod(draft.count, len(draft.regions))
    return [whole + (i < rest) for i in range(len(draft.regions))]
