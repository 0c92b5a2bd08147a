"""Domains that the study names: their names are fixed, and taken out of the target first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from testbed.apportion import apportion, scaled
from testbed.drafts import DomainDraft, Draft
from testbed.targets import Target

# In a small world they may be at most this share of the domains of their class.
_MAX_SHARE = Fraction(1, 4)
# And their front ends may use at most this share of all addresses of a kind.
_MAX_INSTANCES = Fraction(2, 5)


@dataclass(frozen=True, slots=True)
class Star:
    """One named domain at the world's scale."""

    draft: DomainDraft
    provider: str


def choose_stars(
    raw: Mapping[str, Any], scale: Fraction, room: Mapping[str, int], listed: Sequence[str] | None
) -> list[Star]:
    """Stars that fit: those on the list if there is one, best ranks first."""
    wanted = [
        entry for entry in sorted(raw.get("starred", ()), key=lambda e: int(e["rank"]))
        if listed is None or entry["domain"] in listed
    ]  # fmt: skip
    chosen: list[Star] = []
    left = {kind: int(n * _MAX_SHARE) for kind, n in room.items()}
    for entry in wanted:
        kind = f"{entry.get('provider', 'aws')}_other"
        if left.get(kind, 0) > 0:
            left[kind] -= 1
            chosen.append(_star(entry, scale, raw))
    return chosen


def _star(entry: Mapping[str, Any], scale: Fraction, raw: Mapping[str, Any]) -> Star:
    provider = str(entry.get("provider", "aws"))
    fronts = entry["fronts"]
    cloud = sum(f["names"] for f in fronts)
    n_cloud = max(1, scaled(cloud, scale))
    n_total = max(n_cloud + 1, scaled(entry["names"], scale))
    domain = DomainDraft(f"{provider}_other", domain=str(entry["domain"]), rank=int(entry["rank"]))
    domain.others = n_total - n_cloud
    parts = apportion(n_cloud, [f["names"] for f in fronts])
    for front, count in zip(fronts, parts, strict=True):
        domain.drafts += [_draft(entry, front, provider, scale, raw) for _ in range(count)]
    if "label" in entry:
        domain.drafts[0].host = f"{entry['label']}.{entry['domain']}"
    return Star(domain, provider)


def _draft(
    entry: Mapping[str, Any], front: Mapping[str, Any], provider: str, scale: Fraction,
    raw: Mapping[str, Any],
) -> Draft:  # fmt: skip
    draft = Draft(provider, str(front["label"]), tuple(front["regions"]))
    draft.zones = str(front.get("zones", ""))
    if "instances" in front:
        draft.count = _instances(entry, front, provider, scale, raw)
        draft.owner = "" if front.get("shared") else str(entry["domain"])
    return draft


def _instances(
    entry: Mapping[str, Any], front: Mapping[str, Any], provider: str, scale: Fraction,
    raw: Mapping[str, Any],
) -> int:  # fmt: skip
    """The published number, unless all stars together would drain a small world."""
    label = front["label"]
    whole = next(f["instances"] for f in raw[provider]["features"] if f["label"] == label)
    asked = sum(
        f.get("instances", 0) * f["names"]
        for e in raw["starred"] for f in e["fronts"]
        if f["label"] == label and e.get("provider", "aws") == provider
    )  # fmt: skip
    fit = min(Fraction(1), scaled(whole, scale) * _MAX_INSTANCES / asked)
    return max(1, int(front["instances"] * fit))


def take_out(target: Target, stars: Sequence[Star], provider: str) -> int:
    """Take the stars' names out of a target; gives the number of their domains.

    A kind that the target holds no more of is replaced by the commonest one, so that the sums
    still hold.
    """
    own = [star.draft for star in stars if star.provider == provider]
    for domain in own:
        for draft in domain.drafts:
            _fit(target, draft)
        for label in {draft.label for draft in domain.drafts}:
            target.domains[label] = max(0, target.domains[label] - 1)
        for region in {r for draft in domain.drafts for r in draft.regions}:
            target.region_domains[region] = max(0, target.region_domains[region] - 1)
        widest = max(len(draft.regions) for draft in domain.drafts)
        if widest > 1:
            target.wide[widest] = max(0, target.wide[widest] - 1)
    return len(own)


def _fit(target: Target, draft: Draft) -> None:
    if target.names[draft.label] <= 0:
        draft.label = max(target.names, key=lambda x: target.names[x])
        draft.count, draft.owner = 0, ""
    target.names[draft.label] -= 1
    if len(draft.regions) > 1 and not _take_set(target, draft):
        draft.regions = draft.regions[:1]
    if len(draft.regions) == 1:
        if target.singles[draft.regions[0]] <= 0:
            draft.regions = (max(target.singles, key=lambda r: target.singles[r]),)
        target.singles[draft.regions[0]] -= 1


def _take_set(target: Target, draft: Draft) -> bool:
    """Use up one name with several regions; the sums by region are kept."""
    same = [s for s in target.sets if len(s) == len(draft.regions) and target.sets[s] > 0]
    if not same:
        return False
    taken = max(same, key=lambda s: (len(set(s) & set(draft.regions)), target.sets[s]))
    target.sets[taken] -= 1
    for lost, gained in zip(
        sorted(set(draft.regions) - set(taken)), sorted(set(taken) - set(draft.regions)),
        strict=True,
    ):  # fmt: skip
        target.singles[lost] -= 1
        target.singles[gained] += 1
    return True
