"""Target counts of a world at a scale: the published counts, integral and consistent."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from testbed.generate.apportion import apportion, apportion_within, scaled
from testbed.world.drafts import Regions

CLASSES = ("aws_only", "aws_other", "azure_only", "azure_other", "aws_azure")
# At most this share of a region's uses belongs to names that use several regions (chosen).
_MULTI_SHARE = Fraction(2, 5)
# Every domain in a region needs names there: one, and often one per label.
_SEEDS_PER_DOMAIN = Fraction(115, 100)
# And at most this share of a region's domains is there by such names alone.
_WIDE_DOMAINS = Fraction(9, 10)


@dataclass(slots=True)
class Target:
    """What one provider's drafts must add up to; every number counts down to zero in use."""

    names: Counter[str]  # by label
    domains: Counter[str]  # by label
    singles: Counter[str]  # names with one region, by region
    sets: Counter[Regions]  # names with several
    region_domains: Counter[str]
    wide: Counter[int]  # domains with a name in k regions, by k


def class_counts(raw: Any, scale: Fraction) -> tuple[Counter[str], Counter[str]]:
    """Domains and names by class of Table 5 at ``scale``; every cloud in use has a domain."""
    weights = [raw["domains"][c] for c in CLASSES]
    domains = Counter(
        dict(zip(CLASSES, apportion(max(1, scaled(sum(weights), scale)), weights), strict=True))
    )
    weights = [raw["names"][c] for c in CLASSES]
    names = Counter(
        dict(zip(CLASSES, apportion(max(1, scaled(sum(weights), scale)), weights), strict=True))
    )
    _reconcile(domains, names)
    return domains, names


def _reconcile(domains: Counter[str], names: Counter[str]) -> None:
    for provider in ("aws", "azure"):
        used = sum(names[c] for c in CLASSES if provider in c)
        if used and not sum(domains[c] for c in CLASSES if provider in c):
            domains[f"{provider}_other"] += 1
            domains[max(domains, key=lambda c: domains[c])] -= 1
    both = "aws_azure"
    if names[both] and not domains[both]:
        names["aws_only"] += names.pop(both)
    for provider in ("aws", "azure"):  # a hybrid name makes its domain hybrid
        kind = f"{provider}_other"
        if names[kind] and not domains[kind]:
            names[f"{provider}_only"] += names.pop(kind)


def build_target(section: Any, scale: Fraction, n_names: int, n_domains: int) -> Target:
    """The target of one provider with ``n_names`` names in ``n_domains`` domains."""
    features, regions = section["features"], section["regions"]
    labels, codes = [f["label"] for f in features], [r["code"] for r in regions]
    names = apportion(n_names, [f["names"] for f in features])
    by_k = _region_counts(section, scale, n_names)
    uses = apportion(sum(k * n for k, n in by_k.items()), [r["names"] for r in regions])
    wide = _wide(section, by_k, n_domains)
    upper = _multi_bounds(section, scale, dict(zip(codes, uses, strict=True)), by_k, wide)
    sets = _region_sets(dict(zip(codes, uses, strict=True)), by_k, upper)
    multi = Counter({code: sum(n for s, n in sets.items() if code in s) for code in codes})
    return Target(
        names=Counter(dict(zip(labels, names, strict=True))),
        domains=_domains(features, scale, names, n_domains),
        singles=Counter({c: u - multi[c] for c, u in zip(codes, uses, strict=True)}),
        sets=sets,
        region_domains=Counter(
            {
                r["code"]: min(u, max(1, scaled(r["domains"], scale)))
                for r, u in zip(regions, uses, strict=True)
                if u
            }
        ),
        wide=wide,
    )


def _region_counts(section: Any, scale: Fraction, n_names: int) -> dict[int, int]:
    """Names by number of regions, as the figure has it, with the table's number of uses."""
    counts = dict(enumerate(apportion(n_names, section["region_counts"]), 1))
    uses = max(n_names, scaled(sum(r["names"] for r in section["regions"]), scale))
    wide = sorted((k for k in counts if k > 1 and counts[k]), key=lambda k: -counts[k])
    while (gap := uses - sum(k * n for k, n in counts.items())) and wide:
        k = next((k for k in wide if k - 1 <= abs(gap)), None)
        step = 1 if gap > 0 else -1
        if k is None or not (counts[k] if step < 0 else counts[1]):
            break
        moves = min(abs(gap) // (k - 1), counts[k] if step < 0 else counts[1])
        counts[k] += step * moves
        counts[1] -= step * moves
    return {k: n for k, n in counts.items() if n}


def _multi_bounds(
    section: Any, scale: Fraction, uses: dict[str, int], by_k: dict[int, int], wide: Counter[int]
) -> dict[str, int]:
    """How many names with several regions each region can take and keep its domain count."""
    several = sum(n for k, n in by_k.items() if k > 1)
    per_domain = Fraction(several, max(1, sum(wide.values()))) * _WIDE_DOMAINS
    bounds = {}
    for region in section["regions"]:
        code, domains = region["code"], scaled(region["domains"], scale)
        by_names = min(uses[code] * _MULTI_SHARE, uses[code] - domains * _SEEDS_PER_DOMAIN)
        bounds[code] = max(0, min(several, int(by_names), int(domains * per_domain)))
    wanted = sum(k * n for k, n in by_k.items() if k > 1)
    if sum(bounds.values()) < wanted:  # a small world cannot keep every promise
        return {code: min(several, n) for code, n in uses.items()}
    return bounds


def _region_sets(
    uses: dict[str, int], by_k: dict[int, int], bounds: dict[str, int]
) -> Counter[Regions]:
    """Sets of regions for the names with several, so that each region gets its share."""
    codes = list(uses)
    wanted = sum(k * n for k, n in by_k.items() if k > 1)
    upper = [bounds[c] for c in codes]
    parts = apportion_within(wanted, [uses[c] ** 0.5 for c in codes], [0] * len(codes), upper)
    left = dict(zip(codes, parts, strict=True))
    sets: Counter[Regions] = Counter()
    for k in sorted((k for k in by_k if k > 1), reverse=True):
        for _ in range(by_k[k]):
            # Always the fullest: this meets the sums whenever they can be met (Gale, Ryser).
            chosen = sorted(sorted(codes, key=lambda c: -left[c])[:k], key=codes.index)
            for code in chosen:
                left[code] -= 1
            sets[tuple(chosen)] += 1
    return sets


def _domains(features: Any, scale: Fraction, names: list[int], n_domains: int) -> Counter[str]:
    lower = [min(n, 1) for n in names]
    wanted = [scaled(f["domains"], scale) for f in features]
    total = max(n_domains, sum(wanted))
    upper = [min(n, max(w, low)) for n, w, low in zip(names, wanted, lower, strict=True)]
    parts = apportion_within(total, wanted, lower, upper)
    if sum(parts) < n_domains:  # too few to give every domain a front end: add where names are
        parts = apportion_within(n_domains, names, parts, names)
    return Counter(dict(zip((f["label"] for f in features), parts, strict=True)))


def _wide(section: Any, by_k: dict[int, int], n_domains: int) -> Counter[int]:
    ks = [k for k in sorted(by_k) if k > 1]
    total = round(n_domains * (1 - section["single_region_domains"]))
    upper = [min(by_k[k], n_domains) for k in ks]
    parts = apportion_within(total, [by_k[k] ** 0.5 for k in ks], [min(1, u) for u in upper], upper)
    return Counter(dict(zip(ks, parts, strict=True)))
