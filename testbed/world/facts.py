"""Facts of each name: provider, front end and region."""

from collections.abc import Iterator
from dataclasses import dataclass

from core.providers import PROVIDERS
from core.statuses import AddressKind
from testbed.world.model import Name, Place, World, Zone

_USED = (AddressKind.CLOUD, AddressKind.CDN)
_HEROKU = ("heroku.com", "herokuapp", "herokucom", "herokussl")
# (provider, label) -> instances
Labels = dict[tuple[str, str], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Fact:
    """One name with its places. ``providers`` is in the order of ``core.report_tables``."""

    zone: Zone
    name: Name
    providers: tuple[str, ...]
    elsewhere: bool
    regions: tuple[tuple[str, str], ...]  # (provider, region), sorted
    labels: Labels


def facts_of(world: World) -> Iterator[Fact]:
    """The facts of every name that has an address or a CNAME."""
    for zone, name in world.names():
        if name.cnames or name.addresses or name.addresses6:
            yield _fact(world, zone, name)


def _fact(world: World, zone: Zone, name: Name) -> Fact:
    places = {a: world.place(a) for a in (*name.addresses, *name.addresses6)}
    used = {p.provider for p in places.values() if p.kind in _USED}
    labels = _labels(name, places)
    # Azure's CDN edges are in its own ranges, but identify no region, like any other CDN.
    edge = "azure" if ("azure", "cdn") in labels else ""
    regions = {
        (p.provider, p.region)
        for p in places.values()
        if p.kind == AddressKind.CLOUD and p.provider and p.region and p.provider != edge
    }
    return Fact(
        zone=zone,
        name=name,
        providers=tuple(p for p in PROVIDERS if p in used),
        elsewhere=any(p.kind not in _USED for p in places.values()),
        regions=tuple(sorted(regions)),
        labels=labels,
    )


def _labels(name: Name, places: dict[str, Place]) -> Labels:
    found: Labels = {}
    for provider, label_of in (("aws", _aws), ("azure", _azure), ("google", _google)):
        own = {a: p for a, p in places.items() if p.provider == provider and p.kind in _USED}
        if own:
            labels = label_of(name, own) or {"unclassified": ()}
            found |= {(provider, label): instances for label, instances in labels.items()}
    return found


def _aws(name: Name, own: dict[str, Place]) -> dict[str, tuple[str, ...]]:
    labels: dict[str, tuple[str, ...]] = {}
    every = tuple(own)
    rented = tuple(a for a, p in own.items() if p.kind == AddressKind.CLOUD)
    edges = tuple(a for a, p in own.items() if p.service == "CLOUDFRONT")
    balanced = any(c.endswith("elb.amazonaws.com") for c in name.cnames)
    if rented and not name.cnames:
        labels["vm"] = rented
    if balanced:
        labels["elb"] = every
    if any("elasticbeanstalk" in c for c in name.cnames):
        labels["beanstalk"] = every
    if any(mark in c for c in name.cnames for mark in _HEROKU):
        labels["heroku-elb" if balanced else "heroku"] = every
    if edges:
        labels["cloudfront"] = edges
    return labels


def _azure(name: Name, own: dict[str, Place]) -> dict[str, tuple[str, ...]]:
    labels: dict[str, tuple[str, ...]] = {}
    if not name.cnames:
        labels["cs"] = tuple(own)
    for label, parent in (("cs", "cloudapp.net"), ("tm", "trafficmanager.net")):
        hits = tuple(c for c in name.cnames if c.endswith(f".{parent}"))
        if hits:
            labels[label] = hits
    edges = tuple(c for c in name.cnames if "msecnd.net" in c)
    if edges:
        labels["cdn"] = edges
    return labels


def _google(name: Name, own: dict[str, Place]) -> dict[str, tuple[str, ...]]:
    rented = tuple(a for a, p in own.items() if p.kind == AddressKind.CLOUD)
    return {"vm": rented} if rented and not name.cnames else {}
