"""Names hosted in two clouds, in a cloud and elsewhere, or only elsewhere (Table 5), and names
behind a CDN, which count in no region."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from testbed.generate.apportion import apportion_within, scaled
from testbed.generate.targets import Target
from testbed.world.drafts import DomainDraft, Draft


def exclude_mixed_names(target: Target, count: int) -> None:
    """Subtract names in both clouds from Azure's target: they are drafts of AWS."""
    for _ in range(count):
        target.names["cs"] -= 1
        fullest = max(target.singles, key=lambda r: target.singles[r])
        target.singles[fullest] -= 1
        target.region_domains[fullest] = max(0, target.region_domains[fullest] - 1)


def without_edges(section: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a provider's section without its CDN, and the CDN's row (empty if there is none).

    CDN edges are in the ranges of regions, but no publication counts them there (section 4.4.2).
    """
    edges = [f for f in section["features"] if f["label"] == "cdn"]
    features = [f for f in section["features"] if f["label"] != "cdn"]
    return {**section, "features": features}, edges[0] if edges else {}


def add_edges(
    domains: Sequence[DomainDraft],
    provider: str,
    n_names: int,
    n_domains: int,
    rng: random.Random,
) -> None:
    """Add names behind the CDN to some domains that use the provider."""
    able = [d for d in domains if d.drafts]
    chosen = rng.sample(able, max(1, min(n_names, n_domains, len(able))))
    for number in range(n_names):
        domain = chosen[number % len(chosen)]
        region = next(d for d in domain.drafts if d.provider == provider).regions[0]
        domain.drafts.append(Draft(provider, "cdn", (region,)))


def assign_mixed_names(
    domains: Sequence[DomainDraft],
    names: Counter[str],
    raw: Mapping[str, Any],
    scale: Fraction,
    rng: random.Random,
) -> None:
    """Choose the mixed and the hybrid names, and count those elsewhere, in place."""
    _mark_mixed(domains, names["aws_azure"], raw, rng)
    for provider in ("aws", "azure"):
        wanted = names[f"{provider}_other"]
        count = min(wanted, max(1, scaled(raw["hybrid_domains"][provider], scale)))
        able = _hybrid_candidates(domains, provider, raw[provider]["multi_region"])
        _mark_hybrid(able, wanted, count, rng)
    for domain in domains:
        if not domain.starred and not domain.pure:
            domain.others = _count_others(domain, raw["list"]["other_names"], rng)


def _mark_mixed(
    domains: Sequence[DomainDraft], count: int, raw: Mapping[str, Any], rng: random.Random
) -> None:
    both = [d for d in domains if d.kind == "aws_azure"]
    fit = [x for d in both for x in d.drafts if x.label == "vm" and len(x.regions) == 1]
    largest = max(raw["azure"]["regions"], key=lambda r: int(r["names"]))["code"]
    for draft in rng.sample(fit, min(len(fit), count)):
        draft.other_cloud = largest


def _hybrid_candidates(
    domains: Sequence[DomainDraft], provider: str, labels: Sequence[str]
) -> list[list[Draft]]:
    """Names that may be hybrid, domain by domain."""
    own = [d for d in domains if d.kind == f"{provider}_other" and not d.starred]
    fits = [[x for x in d.drafts if x.label in labels] for d in own]
    return [fit for fit in fits if fit]


def _mark_hybrid(able: list[list[Draft]], wanted: int, count: int, rng: random.Random) -> None:
    rng.shuffle(able)
    able.sort(key=lambda fit: -len(fit))
    large = count // 3  # some large domains have the space, the rest are everyday ones
    chosen = able[:large] + rng.sample(able[large:], max(0, min(count, len(able)) - large))
    if sum(len(fit) for fit in chosen) < wanted:
        chosen = able[:count]
    capacity = [len(fit) for fit in chosen]
    parts = apportion_within(wanted, capacity, [1] * len(capacity), capacity)
    for fit, part in zip(chosen, parts, strict=True):
        for draft in rng.sample(fit, part):
            draft.hybrid = True


def _count_others(domain: DomainDraft, mean: int, rng: random.Random) -> int:
    free = domain.kind == "aws_azure" or any(draft.hybrid for draft in domain.drafts)
    least = 0 if free else 1
    return least + rng.randint(0, 2 * (mean - least))
