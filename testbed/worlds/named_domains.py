"""Domains that the study names: they have their published size at every scale.

What is published of all domains is given less these, so that the rest can be scaled by itself.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from fractions import Fraction
from typing import Any

from testbed.generate.apportion import apportion
from testbed.world.drafts import DomainDraft, Draft


def choose_named_domains(raw: Mapping[str, Any], listed: Sequence[str] | None) -> list[DomainDraft]:
    """The named domains, those on the list if there is one, best ranks first."""
    wanted = sorted(raw.get("starred", ()), key=lambda entry: int(entry["rank"]))
    on_it = None if listed is None else set(listed)
    return [_named_domain(entry) for entry in wanted if on_it is None or entry["domain"] in on_it]


def _named_domain(entry: Mapping[str, Any]) -> DomainDraft:
    provider = str(entry.get("provider", "aws"))
    domain = DomainDraft(f"{provider}_other", domain=str(entry["domain"]), rank=int(entry["rank"]))
    domain.starred = True
    for front in entry["fronts"]:
        domain.drafts += [_draft(entry, front, provider) for _ in range(front["names"])]
    domain.others = int(entry["names"]) - len(domain.drafts)
    if "label" in entry:
        domain.drafts[0].host = f"{entry['label']}.{entry['domain']}"
    return domain


def _draft(entry: Mapping[str, Any], front: Mapping[str, Any], provider: str) -> Draft:
    draft = Draft(provider, str(front["label"]), tuple(front["regions"]))
    draft.zones = str(front.get("zones", ""))
    if "instances" in front:
        draft.count = int(front["instances"])
        draft.owner = "" if front.get("shared") else str(entry["domain"])
    return draft


def subtract_named_domains(raw: Mapping[str, Any], stars: Sequence[DomainDraft]) -> dict[str, Any]:
    """A world file's published numbers less what the named domains have of them."""
    rest = deepcopy(dict(raw))
    for star in stars:
        provider = star.drafts[0].provider
        rest["domains"][star.kind] -= 1
        rest["names"][f"{provider}_only"] -= len(star.drafts)
        _subtract_features(rest[provider], star)
        _subtract_regions(rest[provider], star)
    for provider in ("aws", "azure"):
        drafts = [d for star in stars for d in star.drafts if d.provider == provider]
        rest[provider]["region_counts"] = _region_counts(raw[provider], drafts)
    return rest


def _subtract_features(section: dict[str, Any], star: DomainDraft) -> None:
    names = Counter(draft.label for draft in star.drafts)
    for feature in section["features"]:
        own = [draft for draft in star.drafts if draft.label == feature["label"]]
        feature["names"] -= names[feature["label"]]
        feature["domains"] -= bool(own)
        feature["instances"] -= _instances(own)


def _instances(drafts: Sequence[Draft]) -> int:
    """Addresses that publications give to fronts of one domain and label."""
    alone = sum(draft.count for draft in drafts if draft.owner)
    return alone + max((draft.count for draft in drafts if not draft.owner), default=0)


def _subtract_regions(section: dict[str, Any], star: DomainDraft) -> None:
    uses = Counter(code for draft in star.drafts for code in draft.regions)
    for region in section["regions"]:
        region["names"] -= uses[region["code"]]
        region["domains"] -= uses[region["code"]] > 0


def _region_counts(section: Mapping[str, Any], drafts: Sequence[Draft]) -> list[Fraction]:
    """Weights of names by number of regions (Figure 12a), less those of ``drafts``."""
    total = sum(f["names"] for f in section["features"])
    counts = apportion(total, section["region_counts"])
    held = Counter(len(draft.regions) for draft in drafts)
    return [Fraction(max(0, count - held[k])) for k, count in enumerate(counts, 1)]
