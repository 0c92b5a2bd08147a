"""Worlds that are drawn from published distributions, at any scale.

The steps: count, let domains choose front ends and regions, fill in names, put the domains on
the list, give names their zones, addresses and labels, and inject faults.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from core.errors import BadInput
from testbed.generate import fault_injection
from testbed.generate.addresses.allocator import AddressAllocator
from testbed.generate.addresses.instances import set_counts
from testbed.generate.addresses.pools import Pool, PublishedCounts, build_pools
from testbed.generate.apportion import scaled
from testbed.generate.availability_zones import addresses_by_zone, assign_zones
from testbed.generate.front_ends import SHARED_HEROKU, FrontEndBuilder, choose_named, edge_addresses
from testbed.generate.mixed_hosting import (
    add_edges,
    assign_mixed_names,
    exclude_mixed_names,
    without_edges,
)
from testbed.generate.naming import Labeller
from testbed.generate.operators import serve_zones
from testbed.generate.population import Population, populate
from testbed.generate.profiles import draw_profiles
from testbed.generate.ranking import rank_invented, rank_listed
from testbed.generate.targets import CLASSES, build_target, class_counts
from testbed.world.drafts import DomainDraft, Draft, PoolKey, drafts_of
from testbed.world.model import ALLOW, REFUSE, Name, PublishedRanges, World, Zone
from testbed.worlds.named_domains import choose_named_domains, subtract_named_domains

DEFAULT_SCALE = Fraction(1, 100)
PROVIDERS = ("aws", "azure")


@dataclass(frozen=True, slots=True)
class Request:
    """Arguments of a generated world; see ``testbed.worlds.loading.build_world``."""

    scale: Fraction | None
    seed: int
    domains: Sequence[str] | None
    labels: tuple[str, ...]


@dataclass(slots=True)
class _BuildContext:
    """State shared by the steps; each step has an independent random stream."""

    raw: Mapping[str, Any]
    scale: Fraction
    seed: int
    allocator: AddressAllocator
    listed: Sequence[str] | None
    stars: list[DomainDraft]
    rest: Mapping[str, Any]  # ``raw`` less what the stars have of it
    domain_counts: Counter[str]  # of the rest, at its scale
    name_counts: Counter[str]
    pools: dict[PoolKey, Pool] = field(default_factory=dict)

    def rng(self, step: str) -> random.Random:
        return random.Random(f"{self.raw['name']}:{self.scale}:{self.seed}:{step}")


def build_generated(
    raw: Mapping[str, Any],
    request: Request,
    allocator: AddressAllocator,
    ranges: tuple[PublishedRanges, ...],
) -> World:
    """Build the world of a file of kind ``generated``."""
    listed = list(dict.fromkeys(d.strip().lower() for d in request.domains or ())) or None
    scale = _scale(raw, request.scale, listed)
    stars = choose_named_domains(raw, listed)
    if listed is not None:  # a short list has space for as many as the rest leaves
        stars = stars[: max(0, len(listed) - sum(class_counts(raw, scale)[0].values()))]
    rest = subtract_named_domains(raw, stars)
    counts = class_counts(rest, scale)
    context = _BuildContext(raw, scale, request.seed, allocator, listed, stars, rest, *counts)
    _check_list_size(context)
    domains = _draw_domains(context)
    background = _rank(context, domains)
    numbers = raw["list"]
    labeller = Labeller(
        request.labels, numbers["no_apex"], numbers["unlisted"], context.rng("labels")
    )
    cloud = _build_zones(context, domains, labeller)
    others = _build_background(context, background, labeller)
    world = World(
        str(raw["name"]),
        scale,
        request.seed,
        [],
        {},
        allocator.places,
        ranges,
        raw["as_of"],
        str(raw.get("origin", "")),
    )
    world.hosts = serve_zones(
        cloud, others, raw["name_servers"], scale, allocator, context.rng("name servers")
    )
    world.injected_faults = _inject_faults(context, cloud, others, labeller)
    world.zones = sorted(cloud + others, key=lambda zone: zone.rank)
    world.notes += allocator.notes
    return world


def _scale(
    raw: Mapping[str, Any], scale: Fraction | None, listed: Sequence[str] | None
) -> Fraction:
    if scale is None and listed:
        cloud = sum(raw["domains"].values())
        per_cloud = 1 + Fraction(str(raw["list"]["background_per_cloud_domain"]))
        scale = Fraction(len(listed), round(cloud * per_cloud))
    scale = DEFAULT_SCALE if scale is None else Fraction(scale)
    if not 0 < scale <= 1:
        raise BadInput(f"{scale} is not a share: give more than 0 and at most 1", field="scale")
    return scale


def _check_list_size(context: _BuildContext) -> None:
    wanted = sum(context.domain_counts.values()) + len(context.stars)
    if context.listed is not None and wanted > len(context.listed):
        raise BadInput(
            f"{len(context.listed)} names cannot hold {wanted} cloud-using domains: choose a "
            "smaller scale",
            field="scale",
        )


def _draw_domains(context: _BuildContext) -> list[DomainDraft]:
    """All cloud-using domains with their cloud names, the named ones first."""
    plain = [DomainDraft(kind) for kind in CLASSES for _ in range(context.domain_counts[kind])]
    context.rng("classes").shuffle(plain)
    for provider in PROVIDERS:
        _fill(context, provider, [d for d in plain if d.uses(provider)])
    domains = context.stars + plain
    assign_mixed_names(
        domains, context.name_counts, context.raw, context.scale, context.rng("blend")
    )
    return domains


def _fill(context: _BuildContext, provider: str, domains: Sequence[DomainDraft]) -> None:
    """Give the domains of one provider their cloud names."""
    section, edges = without_edges(context.rest[provider])
    n_names = sum(context.name_counts[c] for c in CLASSES if provider in c)
    n_edges = min(scaled(edges["names"], context.scale), n_names - 1) if edges else 0
    if not domains or not n_names:
        return
    target = build_target(section, context.scale, n_names - n_edges, len(domains))
    if provider == "azure":
        exclude_mixed_names(target, context.name_counts["aws_azure"])
    profiles = draw_profiles(target, section, len(domains), context.rng(f"{provider} profiles"))
    population = populate(target, section, profiles, context.rng(f"{provider} names"))
    _add_drafts(provider, domains, population)
    if n_edges:
        n_domains = scaled(edges["domains"], context.scale)
        add_edges(domains, provider, n_edges, n_domains, context.rng(f"{provider} edges"))


def _add_drafts(provider: str, domains: Sequence[DomainDraft], population: Population) -> None:
    for domain, kinds in zip(domains, population, strict=True):
        for (label, regions), count in kinds.items():
            domain.drafts += [Draft(provider, label, regions) for _ in range(count)]


def _rank(context: _BuildContext, domains: Sequence[DomainDraft]) -> list[tuple[int, str]]:
    """Rank the domains; return rank and name of those without any cloud."""
    rng, numbers = context.rng("ranks"), context.raw["list"]
    if context.listed is not None:
        return rank_listed(domains, context.listed, numbers, rng)
    count = round(len(domains) * numbers["background_per_cloud_domain"])
    return rank_invented(domains, count, numbers, rng)


def _build_zones(
    context: _BuildContext, domains: Sequence[DomainDraft], labeller: Labeller
) -> list[Zone]:
    _choose_transferable(context, domains, labeller)
    _assign_addresses(context, domains)
    edges = edge_addresses(
        scaled(context.raw["aws"]["cloudfront_addresses"], context.scale), context.allocator
    )
    heroku = f"shared-{SHARED_HEROKU}" if "heroku.com" in (context.listed or ()) else SHARED_HEROKU
    fronts, rng = (
        FrontEndBuilder(context.pools, edges, context.allocator, heroku),
        context.rng("elsewhere"),
    )
    zones: list[Zone] = []
    for domain in domains:
        others = labeller.label(domain)
        zone = Zone(domain.domain, domain.rank, transfer=ALLOW if domain.transferable else REFUSE)
        zone.names = [Name(d.host, *fronts.build(d)) for d in domain.drafts]
        zone.names += [_name_elsewhere(context, host, rng) for host in others]
        zones.append(zone)
    return zones


def _choose_transferable(
    context: _BuildContext, domains: Sequence[DomainDraft], labeller: Labeller
) -> None:
    """The domains with the most names; those with more than can be guessed in any case."""
    most = min(context.raw["list"]["large_zone_names"], labeller.capacity)
    left = round(len(domains) * context.raw["hardship"]["transferable"])
    for domain in sorted(domains, key=lambda d: -(len(d.drafts) + d.others)):
        size = len(domain.drafts) + domain.others
        if size > most or (left > 0 and not domain.starred):
            domain.transferable = True
            left -= 1


def _assign_addresses(context: _BuildContext, domains: Sequence[DomainDraft]) -> None:
    """Decide how many addresses each name has, in which zones, and open the pools for them."""
    raw, aws, azure = context.raw, drafts_of(domains, "aws"), drafts_of(domains, "azure")
    set_counts(domains, "aws", raw["aws"], context.rng("aws counts"))
    set_counts(domains, "azure", raw["azure"], context.rng("azure counts"))
    choose_named(azure, raw["azure"]["cs_direct"], context.rng("cs"))
    zones = assign_zones(domains, raw["aws"], context.scale, context.rng("zones"))
    rng = context.rng("spots")
    for draft in aws:
        draft.placements = (
            []
            if draft.pinned
            else [
                (("aws", draft.label, region, letter, draft.owner), count)
                for region, letter, count in addresses_by_zone(draft, zones[id(draft)], rng)
            ]
        )
        if draft.other_cloud:
            draft.placements.append((("azure", "cs", draft.other_cloud, "", ""), 1))
    for draft in azure:
        label = "cs/name" if draft.named else draft.label
        draft.placements = [(("azure", label, region, "", ""), 1) for region in draft.regions]
    supplies = PublishedCounts(
        _instances(context),
        {"aws": float(raw["aws"]["identified"])},
        {"aws": float(raw["aws"]["busy_balancers"])},
    )
    context.pools = build_pools(aws + azure, supplies, context.allocator)


def _instances(context: _BuildContext) -> dict[tuple[str, str], int]:
    """Addresses by provider and label: those of named domains, and of the rest at its scale."""
    found: dict[tuple[str, str], int] = {}
    for provider in PROVIDERS:
        rows = zip(
            context.raw[provider]["features"], context.rest[provider]["features"], strict=True
        )
        for whole, rest in rows:
            held = whole["instances"] - rest["instances"]
            count = held + scaled(rest["instances"], context.scale)
            found[provider, whole["label"]] = max(1, count)
    return found


def _name_elsewhere(context: _BuildContext, host: str, rng: random.Random) -> Name:
    address = context.allocator.other_address()
    if rng.random() >= context.raw["list"]["ipv6_share"]:
        return Name(host, (), (address,))
    low = ":".join(f"{int(part):x}" for part in address.split("."))
    return Name(host, (), (address,), (f"2001:db8::{low}",))


def _build_background(
    context: _BuildContext, ranked: Sequence[tuple[int, str]], labeller: Labeller
) -> list[Zone]:
    """Domains without any cloud."""
    rng, mean = context.rng("background"), context.raw["list"]["background_names"]
    zones: list[Zone] = []
    for rank, name in ranked:
        draft = DomainDraft("none", domain=name, rank=rank, others=rng.randint(1, 2 * mean - 1))
        names = [_name_elsewhere(context, host, rng) for host in labeller.label(draft)]
        zones.append(Zone(name, rank, names))
    return zones


def _inject_faults(
    context: _BuildContext, cloud: list[Zone], others: list[Zone], labeller: Labeller
) -> dict[str, str]:
    """Add what a survey has to cope with; the published counts name those of what is found."""
    raw, rng = context.raw["hardship"], context.rng("hardship")
    vm = [a for key, pool in context.pools.items() if key[1] == "vm" for a in pool.addresses]
    total = len(cloud) + len(others)
    published = sum(context.name_counts.values())
    fault_injection.remove_zones(others, context.raw["list"]["missing_share"], rng)
    fault_injection.inject_zone_faults(others, raw, total, vm, rng)
    sound = [zone for zone in cloud + others if not zone.fault]
    fault_injection.add_wildcards(sound, raw, context.allocator, rng)
    fault_injection.abort_transfers(sound, raw["cut_transfers"], rng)
    fault_injection.add_hidden_names(cloud, round(published * raw["hidden"]), vm, labeller, rng)
    upsets = fault_injection.inject_first_query_faults(sound, raw, rng)
    named = {star.domain for star in context.stars}
    plain = [zone for zone in sound if zone.domain not in named]
    fault_injection.add_dangling_aliases(plain, raw["dangling"], context.rng("dangling"))
    return upsets
