"""How many addresses each cloud name has (Figures 10a and 10b), by region."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from testbed.generate.addresses.machines import CROWDED, assign_machines, zone_demand
from testbed.generate.apportion import apportion
from testbed.world.drafts import DomainDraft, Draft, drafts_of

# Front ends without published address counts get as many as their zones need.
FLEXIBLE = frozenset({"unclassified", "heroku"})
FLEXIBLE_MAX = 3
_BALANCED = ("elb", "beanstalk", "heroku-elb")


def set_counts(
    domains: Sequence[DomainDraft], provider: str, section: Mapping[str, Any], rng: random.Random
) -> None:
    """Set ``count`` of every draft of one provider that has none yet."""
    tables, drafts = section.get("instances", {}), drafts_of(domains, provider)
    if "vm" in tables:
        assign_machines(domains, section, rng)
    for label in dict.fromkeys(d.label for d in drafts):
        unassigned = [d for d in drafts if d.label == label and not d.count]
        if label in _BALANCED and "elb" in tables:
            _assign_counts(unassigned, tables["elb"], section, rng)
        elif label == "heroku":
            _pin_names(domains, float(section["shared_heroku"]) * len(unassigned), rng)
        for draft in unassigned:
            draft.count = max(draft.count, len(draft.regions))


def _assign_counts(
    drafts: list[Draft],
    table: Sequence[Sequence[int]],
    section: Mapping[str, Any],
    rng: random.Random,
) -> None:
    """Assign the published counts, the larger ones to names with many zones or regions."""
    parts = apportion(len(drafts), [share for _, share in table])
    counts = [n for (n, _), part in zip(table, parts, strict=True) for _ in range(part)]
    need = zone_demand(section)

    def preference(draft: Draft) -> float:
        if len(draft.regions) > 1:
            return 100.0 * len(draft.regions)
        wanted = need[draft.regions[0]]
        return wanted * rng.uniform(1.0 if wanted > CROWDED else 0.7, 1.3)

    for draft, count in zip(sorted(drafts, key=preference), sorted(counts), strict=True):
        draft.count = count


def _pin_names(domains: Sequence[DomainDraft], wanted: float, rng: random.Random) -> None:
    """Put some names behind one shared platform name, domain by domain."""
    groups = [[d for d in domain.drafts if d.label == "heroku"] for domain in domains]
    groups = [group for group in groups if group]
    rng.shuffle(groups)
    for group in groups:
        for draft in group[: max(0, round(wanted))]:
            draft.pinned = True
        wanted -= len(group)


def split_by_region(draft: Draft) -> list[int]:
    """Return the address counts of a draft, spread evenly over its regions."""
    if draft.label in FLEXIBLE:
        return [FLEXIBLE_MAX] * len(draft.regions)
    whole, rest = divmod(draft.count, len(draft.regions))
    return [whole + (i < rest) for i in range(len(draft.regions))]
