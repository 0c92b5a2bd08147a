"""Plans of an Internet with a root, by seed: every kind of delegation that goes well or wrong.

A number of zones and a seed go in, a ``Hierarchy`` with its questions comes out.
"""

import random
from collections.abc import Callable

from testbed.hierarchy.draft import Plan
from testbed.hierarchy.faults import FAULTS, TLDS, forge
from testbed.hierarchy.internet import Hierarchy, Zone, is_within, parent_of

REGISTRY = "co.east"  # zones that people register below a second label
_LABELS = ("www", "mail", "api", "cdn", "shop", "dev", "img", "git", "vpn", "blog", "m", "db")
_ZONES_PER_COMPANY = 50
_HOSTS_PER_COMPANY = 3


def plan_hierarchy(
    zones: int = 200,
    names: int = 10,
    *,
    seed: int = 1,
    network: str = "127.53",
    faults: bool = True,
    ipv6: bool = False,
) -> Hierarchy:
    """An Internet of about ``zones`` zones; with ``faults``, one in ten goes wrong somehow.

    With ``ipv6`` some servers stand on ::1 only.
    """
    plan = Plan(random.Random(seed), network, ipv6=ipv6)
    _plan_top(plan)
    _plan_companies(plan, max(4, zones // _ZONES_PER_COMPANY))
    makers: list[Callable[[Plan, str], None]] = [_own, _own, _hosted, _hosted, _hosted, _parted]
    for number in range(zones):
        special = faults and number % 10 == 9
        maker = FAULTS[number // 10 % len(FAULTS)] if special else plan.rng.choice(makers)
        maker(plan, f"z{number}.{plan.rng.choice((*TLDS, REGISTRY))}")
    if faults:
        forge(plan)
    _fill(plan, names)
    _ask_about_top(plan)
    return plan.world


def _plan_top(plan: Plan) -> None:
    roots = [plan.new_address() for _ in range(3)]
    hosts = [f"{letter}.root" for letter in "abc"]
    plan.world.roots = tuple(roots)
    root = plan.add_zone("", hosts, *roots)
    for host, address in zip(hosts, roots, strict=True):
        root.add(host, "A", address)
    for tld in TLDS:
        # The servers of one top-level domain stand beside the root: no referral leads there.
        addresses = roots[:2] if tld == "west" else [plan.new_address(), plan.new_address()]
        plan.give(tld, *addresses)
    # Parent and child share their servers here too.
    east = plan.world.zones["east"]
    addresses = [a for h in east.hosts for a in plan.addresses_of(h)]
    plan.add_zone(REGISTRY, east.hosts, *addresses)
    plan.delegate(REGISTRY, east.hosts)


def _plan_companies(plan: Plan, count: int) -> None:
    for number in range(count):
        apex = f"hosting{number}.{TLDS[number % len(TLDS)]}"
        plan.give(apex, *(plan.new_address() for _ in range(_HOSTS_PER_COMPANY)))
        plan.companies.append(plan.world.zones[apex])


def _own(plan: Plan, apex: str) -> None:
    """Host names of its own with glue, on a company's machines."""
    plan.give(apex, *plan.company_addresses())
    plan.sound.append(apex)


def _hosted(plan: Plan, apex: str) -> None:
    """A company's host names; glue only where the parent can know it."""
    hosts = plan.rng.sample(plan.company().hosts, 2)
    addresses = [a for h in hosts for a in plan.addresses_of(h)]
    plan.add_zone(apex, hosts, *addresses)
    above = plan.world.zone_of(parent_of(apex)).apex
    known = is_within(hosts[0], above) and plan.rng.random() < 0.5
    rows = [(h, "A", a) for h in hosts for a in plan.addresses_of(h)]
    plan.delegate(apex, hosts, rows if known else ())
    plan.sound.append(apex)


def _parted(plan: Plan, apex: str) -> None:
    """A zone with cuts of its own: one on other machines, one on the same, one two levels down."""
    addresses = plan.company_addresses()
    hosts = plan.give(apex, *addresses)
    plan.give(f"lab.{apex}", *plan.company_addresses())
    plan.add_zone(f"same.{apex}", hosts, *addresses)
    plan.delegate(f"same.{apex}", hosts)
    plan.give(f"far.off.{apex}", *plan.company_addresses())
    plan.sound += [apex, f"lab.{apex}"]


def _fill(plan: Plan, names: int) -> None:
    """Names in every zone that people register, and the questions about them."""
    failing = [z.apex for z in plan.world.zones.values() if z.unresolvable]
    for zone in list(plan.world.zones.values()):
        if zone.apex.count(".") and zone.apex != REGISTRY:
            for number in range(names):
                stem = _LABELS[number] if number < len(_LABELS) else f"h{number}"
                _add_name(plan, zone, f"{stem}.{zone.apex}", failing)
            _ask_about(plan, zone)


def _add_name(plan: Plan, zone: Zone, owner: str, failing: list[str]) -> None:
    pick = plan.rng.random()
    if pick < 0.80:
        zone.add(owner, "A", *(plan.data_address() for _ in range(plan.rng.choice((1, 1, 2)))))
    elif pick < 0.85:
        zone.add(owner, "CNAME", f"www.{zone.apex}")
    elif pick < 0.91:
        zone.add(owner, "CNAME", f"www.{plan.rng.choice(plan.sound)}")
    elif pick < 0.93:
        zone.add(owner, "CNAME", f"missing.{plan.rng.choice(plan.sound)}")
    elif pick < 0.94 and failing:
        zone.add(owner, "CNAME", f"www.{plan.rng.choice(failing)}")
    elif pick < 0.97:
        zone.add(owner, "TXT", "no address here")
    else:
        zone.add(f"deep.down.{owner}", "A", plan.data_address())


def _ask_about(plan: Plan, zone: Zone) -> None:
    apex = zone.apex
    if plan.rng.random() < 0.05:
        zone.add(f"*.wild.{apex}", "A", plan.data_address())
        zone.add(f"*.wary.{apex}", "CNAME", f"www.{apex}")
        plan.world.questions += [(f"any.wary.{apex}", "A"), (f"wary.{apex}", "A")]
        plan.world.questions += [(f"any.wild.{apex}", "A"), (f"a.b.wild.{apex}", "A")]
    asked = [(owner, "A") for owner in zone.owners if "*" not in owner]
    asked += [(apex, "A"), (f"none.{apex}", "A"), (f"no.such.none.{apex}", "A")]
    asked += [(apex, "NS"), (f"www.{apex}", "TXT")]
    plan.world.questions += sorted(asked)


def _ask_about_top(plan: Plan) -> None:
    """Names that exist or not right below the root and the domains there."""
    plan.world.questions += [("nowhere", "A"), ("www.nowhere", "A"), ("a.root", "A"), ("root", "A")]
    for apex in (*TLDS, REGISTRY):
        asked = [(apex, "A"), (apex, "NS"), (apex, "SOA"), (f"none.{apex}", "A")]
        plan.world.questions += [*asked, (f"a.b.none.{apex}", "A"), (f"ns1.{apex}", "TXT")]
