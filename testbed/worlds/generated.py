"""Worlds that are drawn from published distributions, at any scale.

The steps: count, let domains choose front ends and regions, fill in names, put the domains on
the list, give names their zones, addresses and labels, and make life hard.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from core.errors import BadInput
from testbed.generate import obstacles
from testbed.generate.addresses.instances import set_counts
from testbed.generate.addresses.pools import Pool, Supplies, open_pools
from testbed.generate.addresses.supply import AddressBook
from testbed.generate.apportion import scaled
from testbed.generate.availability import deal_zones, spots_by_zone
from testbed.generate.blending import add_edges, blend, set_mixed_aside, without_edges
from testbed.generate.fronts import SHARED_HEROKU, FrontMaker, choose_named, edge_addresses
from testbed.generate.naming import Labeller
from testbed.generate.operators import serve_zones
from testbed.generate.population import Population, populate
from testbed.generate.profiles import draw_profiles
from testbed.generate.ranking import rank_invented, rank_listed
from testbed.generate.targets import CLASSES, class_counts, target_of
from testbed.world.drafts import DomainDraft, Draft, PoolKey, drafts_of
from testbed.world.model import ALLOW, REFUSE, Name, PublishedRanges, World, Zone
from testbed.worlds.named_domains import choose_stars, without_stars

DEFAULT_SCALE = Fraction(1, 100)
PROVIDERS = ("aws", "azure")


@dataclass(frozen=True, slots=True)
class Request:
    """What makes a generated world concrete; see ``testbed.worlds.loading.build_world``."""

    scale: Fraction | None
    seed: int
    domains: Sequence[str] | None
    labels: tuple[str, ...]


@dataclass(slots=True)
class _Workshop:
    """What the steps share; each step has a random stream that no other step disturbs."""

    raw: Mapping[str, Any]
    scale: Fraction
    seed: int
    book: AddressBook
    listed: Sequence[str] | None
    stars: list[DomainDraft]
    rest: Mapping[str, Any]  # ``raw`` less what the stars have of it
    domain_counts: Counter[str]  # of the rest, at its scale
    name_counts: Counter[str]
    pools: dict[PoolKey, Pool] = field(default_factory=dict)

    def rng(self, step: str) -> random.Random:
        return random.Random(f"{self.raw['name']}:{self.scale}:{self.seed}:{step}")


def build_generated(
    raw: Mapping[str, Any], request: Request, book: AddressBook, ranges: tuple[PublishedRanges, ...]
) -> World:
    """Build the world of a file of kind ``generated``."""
    listed = list(dict.fromkeys(d.strip().lower() for d in request.domains or ())) or None
    scale = _scale(raw, request.scale, listed)
    stars = choose_stars(raw, listed)
    if listed is not None:  # a short list has room for as many as the rest leaves
        stars = stars[: max(0, len(listed) - sum(class_counts(raw, scale)[0].values()))]
    rest = without_stars(raw, stars)
    counts = class_counts(rest, scale)
    shop = _Workshop(raw, scale, request.seed, book, listed, stars, rest, *counts)
    _demand_room(shop)
    domains = _draw_domains(shop)
    background = _rank(shop, domains)
    numbers = raw["list"]
    labeller = Labeller(request.labels, numbers["no_apex"], numbers["unlisted"], shop.rng("labels"))
    cloud = _make_zones(shop, domains, labeller)
    others = _make_background(shop, background, labeller)
    world = World(
        str(raw["name"]),
        scale,
        request.seed,
        [],
        {},
        book.places,
        ranges,
        raw["as_of"],
        str(raw.get("origin", "")),
    )
    world.hosts = serve_zones(
        cloud, others, raw["name_servers"], scale, book, shop.rng("name servers")
    )
    world.upsets = _make_hard(shop, cloud, others, labeller)
    world.zones = sorted(cloud + others, key=lambda zone: zone.rank)
    world.notes += book.notes
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
        raise BadInput(f"{scale} is no share: give more than 0 and at most 1", field="scale")
    return scale


def _demand_room(shop: _Workshop) -> None:
    wanted = sum(shop.domain_counts.values()) + len(shop.stars)
    if shop.listed is not None and wanted > len(shop.listed):
        raise BadInput(
            f"{len(shop.listed)} names cannot hold {wanted} cloud-using domains: choose a "
            "smaller scale",
            field="scale",
        )


def _draw_domains(shop: _Workshop) -> list[DomainDraft]:
    """All cloud-using domains with their cloud names, the named ones first."""
    plain = [DomainDraft(kind) for kind in CLASSES for _ in range(shop.domain_counts[kind])]
    shop.rng("classes").shuffle(plain)
    for provider in PROVIDERS:
        _fill(shop, provider, [d for d in plain if d.uses(provider)])
    domains = shop.stars + plain
    blend(domains, shop.name_counts, shop.raw, shop.scale, shop.rng("blend"))
    return domains


def _fill(shop: _Workshop, provider: str, domains: Sequence[DomainDraft]) -> None:
    """Give the domains of one provider their cloud names."""
    section, edges = without_edges(shop.rest[provider])
    n_names = sum(shop.name_counts[c] for c in CLASSES if provider in c)
    n_edges = min(scaled(edges["names"], shop.scale), n_names - 1) if edges else 0
    if not domains or not n_names:
        return
    target = target_of(section, shop.scale, n_names - n_edges, len(domains))
    if provider == "azure":
        set_mixed_aside(target, shop.name_counts["aws_azure"])
    profiles = draw_profiles(target, section, len(domains), shop.rng(f"{provider} profiles"))
    population = populate(target, section, profiles, shop.rng(f"{provider} names"))
    _draw_up(provider, domains, population)
    if n_edges:
        n_domains = scaled(edges["domains"], shop.scale)
        add_edges(domains, provider, n_edges, n_domains, shop.rng(f"{provider} edges"))


def _draw_up(provider: str, domains: Sequence[DomainDraft], population: Population) -> None:
    for domain, kinds in zip(domains, population, strict=True):
        for (label, regions), count in kinds.items():
            domain.drafts += [Draft(provider, label, regions) for _ in range(count)]


def _rank(shop: _Workshop, domains: Sequence[DomainDraft]) -> list[tuple[int, str]]:
    """Put the domains on the list; gives rank and name of those without any cloud."""
    rng, numbers = shop.rng("ranks"), shop.raw["list"]
    if shop.listed is not None:
        return rank_listed(domains, shop.listed, numbers, rng)
    count = round(len(domains) * numbers["background_per_cloud_domain"])
    return rank_invented(domains, count, numbers, rng)


def _make_zones(shop: _Workshop, domains: Sequence[DomainDraft], labeller: Labeller) -> list[Zone]:
    _choose_transferable(shop, domains, labeller)
    _place(shop, domains)
    edges = edge_addresses(scaled(shop.raw["aws"]["cloudfront_addresses"], shop.scale), shop.book)
    heroku = f"shared-{SHARED_HEROKU}" if "heroku.com" in (shop.listed or ()) else SHARED_HEROKU
    fronts, rng = FrontMaker(shop.pools, edges, shop.book, heroku), shop.rng("elsewhere")
    zones: list[Zone] = []
    for domain in domains:
        others = labeller.label(domain)
        zone = Zone(domain.domain, domain.rank, transfer=ALLOW if domain.transferable else REFUSE)
        zone.names = [Name(d.host, *fronts.make(d)) for d in domain.drafts]
        zone.names += [_elsewhere(shop, host, rng) for host in others]
        zones.append(zone)
    return zones


def _choose_transferable(
    shop: _Workshop, domains: Sequence[DomainDraft], labeller: Labeller
) -> None:
    """The domains with the most names; those with more than can be guessed in any case."""
    most = min(shop.raw["list"]["large_zone_names"], labeller.capacity)
    left = round(len(domains) * shop.raw["hardship"]["transferable"])
    for domain in sorted(domains, key=lambda d: -(len(d.drafts) + d.others)):
        size = len(domain.drafts) + domain.others
        if size > most or (left > 0 and not domain.starred):
            domain.transferable = True
            left -= 1


def _place(shop: _Workshop, domains: Sequence[DomainDraft]) -> None:
    """Decide how many addresses each name has, in which zones, and open the pools for them."""
    raw, aws, azure = shop.raw, drafts_of(domains, "aws"), drafts_of(domains, "azure")
    set_counts(domains, "aws", raw["aws"], shop.rng("aws counts"))
    set_counts(domains, "azure", raw["azure"], shop.rng("azure counts"))
    choose_named(azure, raw["azure"]["cs_direct"], shop.rng("cs"))
    zones = deal_zones(domains, raw["aws"], shop.scale, shop.rng("zones"))
    rng = shop.rng("spots")
    for draft in aws:
        draft.spots = (
            []
            if draft.pinned
            else [
                (("aws", draft.label, region, letter, draft.owner), count)
                for region, letter, count in spots_by_zone(draft, zones[id(draft)], rng)
            ]
        )
        if draft.other_cloud:
            draft.spots.append((("azure", "cs", draft.other_cloud, "", ""), 1))
    for draft in azure:
        label = "cs/name" if draft.named else draft.label
        draft.spots = [(("azure", label, region, "", ""), 1) for region in draft.regions]
    supplies = Supplies(
        _instances(shop),
        {"aws": float(raw["aws"]["identified"])},
        {"aws": float(raw["aws"]["busy_balancers"])},
    )
    shop.pools = open_pools(aws + azure, supplies, shop.book)


def _instances(shop: _Workshop) -> dict[tuple[str, str], int]:
    """Addresses by provider and label: those of named domains, and of the rest at its scale."""
    found: dict[tuple[str, str], int] = {}
    for provider in PROVIDERS:
        rows = zip(shop.raw[provider]["features"], shop.rest[provider]["features"], strict=True)
        for whole, rest in rows:
            held = whole["instances"] - rest["instances"]
            count = held + scaled(rest["instances"], shop.scale)
            found[provider, whole["label"]] = max(1, count)
    return found


def _elsewhere(shop: _Workshop, host: str, rng: random.Random) -> Name:
    address = shop.book.other()
    if rng.random() >= shop.raw["list"]["ipv6_share"]:
        return Name(host, (), (address,))
    low = ":".join(f"{int(part):x}" for part in address.split("."))
    return Name(host, (), (address,), (f"2001:db8::{low}",))


def _make_background(
    shop: _Workshop, ranked: Sequence[tuple[int, str]], labeller: Labeller
) -> list[Zone]:
    """Domains without any cloud."""
    rng, mean = shop.rng("background"), shop.raw["list"]["background_names"]
    zones: list[Zone] = []
    for rank, name in ranked:
        draft = DomainDraft("none", domain=name, rank=rank, others=rng.randint(1, 2 * mean - 1))
        names = [_elsewhere(shop, host, rng) for host in labeller.label(draft)]
        zones.append(Zone(name, rank, names))
    return zones


def _make_hard(
    shop: _Workshop, cloud: list[Zone], others: list[Zone], labeller: Labeller
) -> dict[str, str]:
    """Add what a survey has to cope with; the published counts stay those of what is found."""
    raw, rng = shop.raw["hardship"], shop.rng("hardship")
    vm = [a for key, pool in shop.pools.items() if key[1] == "vm" for a in pool.addresses]
    total = len(cloud) + len(others)
    published = sum(shop.name_counts.values())
    obstacles.lose_zones(others, shop.raw["list"]["missing_share"], rng)
    obstacles.break_zones(others, raw, total, vm, rng)
    sound = [zone for zone in cloud + others if not zone.fault]
    obstacles.add_wildcards(sound, raw, shop.book, rng)
    obstacles.cut_transfers(sound, raw["cut_transfers"], rng)
    obstacles.hide_names(cloud, round(published * raw["hidden"]), vm, labeller, rng)
    upsets = obstacles.upset_names(sound, raw, rng)
    named = {star.domain for star in shop.stars}
    plain = [zone for zone in sound if zone.domain not in named]
    obstacles.leave_aliases(plain, raw["dangling"], shop.rng("dangling"))
    return upsets
