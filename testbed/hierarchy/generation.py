"""Generation of a DNS hierarchy from a seed, with every kind of working and faulty delegation."""

import random
from collections.abc import Callable

from testbed.hierarchy.builder import HierarchyBuilder
from testbed.hierarchy.faults import FAULTS, TLDS, add_forged_records
from testbed.hierarchy.internet import Hierarchy, Zone, is_within, parent_of

REGISTRY = "co.east"  # a registry below a second-level domain
_LABELS = ("www", "mail", "api", "cdn", "shop", "dev", "img", "git", "vpn", "blog", "m", "db")
_ZONES_PER_HOSTING_ZONE = 50
_HOSTS_PER_HOSTING_ZONE = 3


def generate_hierarchy(
    zones: int = 200,
    names: int = 10,
    *,
    seed: int = 1,
    network: str = "127.53",
    faults: bool = True,
    ipv6: bool = False,
) -> Hierarchy:
    """Generate a hierarchy of about ``zones`` zones; with ``faults``, one in ten is faulty.

    With ``ipv6`` some servers are on ::1 only.
    """
    builder = HierarchyBuilder(random.Random(seed), network, ipv6=ipv6)
    _add_top_zones(builder)
    _add_hosting_zones(builder, max(4, zones // _ZONES_PER_HOSTING_ZONE))
    makers: list[Callable[[HierarchyBuilder, str], None]] = [
        _in_bailiwick,
        _in_bailiwick,
        _hosted,
        _hosted,
        _hosted,
        _with_subzones,
    ]
    for number in range(zones):
        special = faults and number % 10 == 9
        maker = FAULTS[number // 10 % len(FAULTS)] if special else builder.rng.choice(makers)
        maker(builder, f"z{number}.{builder.rng.choice((*TLDS, REGISTRY))}")
    if faults:
        add_forged_records(builder)
    _add_names(builder, names)
    _add_top_questions(builder)
    return builder.world


def _add_top_zones(builder: HierarchyBuilder) -> None:
    roots = [builder.new_address() for _ in range(3)]
    hosts = [f"{letter}.root" for letter in "abc"]
    builder.world.roots = tuple(roots)
    root = builder.add_zone("", hosts, *roots)
    for host, address in zip(hosts, roots, strict=True):
        root.add(host, "A", address)
    for tld in TLDS:
        # The root servers serve one top-level domain as well: no referral leads there.
        addresses = roots[:2] if tld == "west" else [builder.new_address(), builder.new_address()]
        builder.add_delegated_zone(tld, *addresses)
    # Parent and child share their servers here too.
    east = builder.world.zones["east"]
    addresses = [a for h in east.hosts for a in builder.addresses_of(h)]
    builder.add_zone(REGISTRY, east.hosts, *addresses)
    builder.delegate(REGISTRY, east.hosts)


def _add_hosting_zones(builder: HierarchyBuilder, count: int) -> None:
    for number in range(count):
        apex = f"hosting{number}.{TLDS[number % len(TLDS)]}"
        builder.add_delegated_zone(
            apex, *(builder.new_address() for _ in range(_HOSTS_PER_HOSTING_ZONE))
        )
        builder.hosting_zones.append(builder.world.zones[apex])


def _in_bailiwick(builder: HierarchyBuilder, apex: str) -> None:
    """In-bailiwick host names with glue, on a hosting provider's servers."""
    builder.add_delegated_zone(apex, *builder.hosting_addresses())
    builder.resolvable.append(apex)


def _hosted(builder: HierarchyBuilder, apex: str) -> None:
    """A hosting provider's host names; glue only where the parent can have it."""
    hosts = builder.rng.sample(builder.choose_hosting_zone().hosts, 2)
    addresses = [a for h in hosts for a in builder.addresses_of(h)]
    builder.add_zone(apex, hosts, *addresses)
    above = builder.world.zone_of(parent_of(apex)).apex
    known = is_within(hosts[0], above) and builder.rng.random() < 0.5
    rows = [(h, "A", a) for h in hosts for a in builder.addresses_of(h)]
    builder.delegate(apex, hosts, rows if known else ())
    builder.resolvable.append(apex)


def _with_subzones(builder: HierarchyBuilder, apex: str) -> None:
    """A zone with three cuts: on other servers, on the same, and two levels down."""
    addresses = builder.hosting_addresses()
    hosts = builder.add_delegated_zone(apex, *addresses)
    builder.add_delegated_zone(f"lab.{apex}", *builder.hosting_addresses())
    builder.add_zone(f"same.{apex}", hosts, *addresses)
    builder.delegate(f"same.{apex}", hosts)
    builder.add_delegated_zone(f"far.off.{apex}", *builder.hosting_addresses())
    builder.resolvable += [apex, f"lab.{apex}"]


def _add_names(builder: HierarchyBuilder, names: int) -> None:
    """Add names to every registered zone, and the queries for them."""
    failing = [z.apex for z in builder.world.zones.values() if z.unresolvable]
    for zone in list(builder.world.zones.values()):
        if zone.apex.count(".") and zone.apex != REGISTRY:
            for number in range(names):
                stem = _LABELS[number] if number < len(_LABELS) else f"h{number}"
                _add_name(builder, zone, f"{stem}.{zone.apex}", failing)
            _add_questions(builder, zone)


def _add_name(builder: HierarchyBuilder, zone: Zone, owner: str, failing: list[str]) -> None:
    pick = builder.rng.random()
    if pick < 0.80:
        zone.add(
            owner, "A", *(builder.data_address() for _ in range(builder.rng.choice((1, 1, 2))))
        )
    elif pick < 0.85:
        zone.add(owner, "CNAME", f"www.{zone.apex}")
    elif pick < 0.91:
        zone.add(owner, "CNAME", f"www.{builder.rng.choice(builder.resolvable)}")
    elif pick < 0.93:
        zone.add(owner, "CNAME", f"missing.{builder.rng.choice(builder.resolvable)}")
    elif pick < 0.94 and failing:
        zone.add(owner, "CNAME", f"www.{builder.rng.choice(failing)}")
    elif pick < 0.97:
        zone.add(owner, "TXT", "no address here")
    else:
        zone.add(f"deep.down.{owner}", "A", builder.data_address())


def _add_questions(builder: HierarchyBuilder, zone: Zone) -> None:
    apex = zone.apex
    if builder.rng.random() < 0.05:
        zone.add(f"*.wild.{apex}", "A", builder.data_address())
        zone.add(f"*.wary.{apex}", "CNAME", f"www.{apex}")
        builder.world.questions += [(f"any.wary.{apex}", "A"), (f"wary.{apex}", "A")]
        builder.world.questions += [(f"any.wild.{apex}", "A"), (f"a.b.wild.{apex}", "A")]
    asked = [(owner, "A") for owner in zone.owners if "*" not in owner]
    asked += [(apex, "A"), (f"none.{apex}", "A"), (f"no.such.none.{apex}", "A")]
    asked += [(apex, "NS"), (f"www.{apex}", "TXT")]
    builder.world.questions += sorted(asked)


def _add_top_questions(builder: HierarchyBuilder) -> None:
    """Names that exist or not right below the root and the domains there."""
    builder.world.questions += [
        ("nowhere", "A"),
        ("www.nowhere", "A"),
        ("a.root", "A"),
        ("root", "A"),
    ]
    for apex in (*TLDS, REGISTRY):
        asked = [(apex, "A"), (apex, "NS"), (apex, "SOA"), (f"none.{apex}", "A")]
        builder.world.questions += [*asked, (f"a.b.none.{apex}", "A"), (f"ns1.{apex}", "TXT")]
