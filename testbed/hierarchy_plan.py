"""Plans of an Internet with a root, by seed: every kind of delegation that goes well or wrong.

A number of zones and a seed go in, a ``Hierarchy`` with its questions comes out.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from testbed.answers import Row
from testbed.hierarchy import FORGED_ADDRESS, Cut, Hierarchy, Manner, Zone, is_within, parent_of

# "test" is among them because resolvers hold reserved names of it back unless they are told.
TLDS = ("test", "north", "south", "east", "west")
REGISTRY = "co.east"  # zones that people register below a second label
_LABELS = ("www", "mail", "api", "cdn", "shop", "dev", "img", "git", "vpn", "blog", "m", "db")
_ZONES_PER_COMPANY = 50
_HOSTS_PER_COMPANY = 3


@dataclass
class Plan:
    """A hierarchy in the making."""

    rng: random.Random
    network: str
    world: Hierarchy = field(default_factory=lambda: Hierarchy(()))
    companies: list[Zone] = field(default_factory=list)
    # Zones that aliases may lead to, and names in them.
    sound: list[str] = field(default_factory=list)
    used: int = 0

    def new_address(self, manner: Manner = Manner.PLAIN) -> str:
        """The next address of the network."""
        self.used += 1
        address = f"{self.network}.{self.used // 250}.{self.used % 250 + 1}"
        self.world.held[address] = []
        if manner is not Manner.PLAIN:
            self.world.manners[address] = manner
        return address

    def data_address(self) -> str:
        """An address that stands in answers and that nobody asks."""
        number = self.rng.randrange(1 << 17)
        return f"198.{18 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"

    def add_zone(self, apex: str, hosts: Iterable[str], *addresses: str) -> Zone:
        """A new zone on these addresses, not delegated yet."""
        zone = self.world.zones[apex] = Zone(apex, tuple(hosts))
        zone.add(apex, "NS", *zone.hosts)
        zone.add(apex, "SOA", zone.soa[2])
        for address in addresses:
            self.world.held[address].append(apex)
        return zone

    def delegate(self, apex: str, hosts: Iterable[str], glue: Iterable[Row] = ()) -> None:
        """Cut a zone off from the zone above."""
        above = self.world.zone_of(parent_of(apex))
        above.delegate(apex, Cut(tuple(hosts), tuple(glue)))

    def addresses_of(self, host: str) -> tuple[str, ...]:
        """Addresses of a name server's host name."""
        return self.world.zone_of(host).rows[host, "A"]

    def give(self, apex: str, *addresses: str) -> tuple[str, ...]:
        """Host names of the zone's own, with addresses and true glue; the zone is delegated."""
        hosts = tuple(f"ns{i}.{apex}" for i in range(1, len(addresses) + 1))
        zone = self.add_zone(apex, hosts, *addresses)
        for host, address in zip(hosts, addresses, strict=True):
            zone.add(host, "A", address)
        self.delegate(apex, hosts, zip(hosts, ["A"] * len(hosts), addresses, strict=True))
        return hosts

    def company(self) -> Zone:
        """A hosting company by chance."""
        return self.rng.choice(self.companies)

    def company_addresses(self, count: int = 2) -> list[str]:
        """Addresses of one company's servers."""
        hosts = self.rng.sample(self.company().hosts, count)
        return [address for host in hosts for address in self.addresses_of(host)]


def plan_hierarchy(
    zones: int = 200,
    names: int = 10,
    *,
    seed: int = 1,
    network: str = "127.53",
    faults: bool = True,
) -> Hierarchy:
    """An Internet of about ``zones`` zones; with ``faults``, one in ten goes wrong somehow."""
    plan = Plan(random.Random(seed), network)
    _plan_top(plan)
    _plan_companies(plan, max(4, zones // _ZONES_PER_COMPANY))
    makers: list[Callable[[Plan, str], None]] = [_own, _own, _hosted, _hosted, _hosted, _parted]
    for number in range(zones):
        special = faults and number % 10 == 9
        maker = _FAULTS[number // 10 % len(_FAULTS)] if special else plan.rng.choice(makers)
        maker(plan, f"z{number}.{plan.rng.choice((*TLDS, REGISTRY))}")
    if faults:
        _forge(plan)
    _fill(plan, names)
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


def _half_lame(plan: Plan, apex: str) -> None:
    """Good servers beside one of every kind that is none."""
    bad = (Manner.REFUSING, Manner.UPWARD, Manner.STALE, Manner.FAILING)
    addresses = [_shared(plan, manner) for manner in plan.rng.sample(bad, 2)]
    plan.give(apex, *addresses, *plan.company_addresses())
    plan.sound.append(apex)


def _shared(plan: Plan, manner: Manner) -> str:
    """An address with this manner, one for all zones."""
    for address, known in plan.world.manners.items():
        if known is manner:
            return address
    return plan.new_address(manner)


def _lame(plan: Plan, apex: str) -> None:
    plan.give(apex, _shared(plan, Manner.REFUSING), _shared(plan, Manner.UPWARD))
    plan.world.zones[apex].unresolvable = True


def _half_silent(plan: Plan, apex: str) -> None:
    silent = [_shared(plan, Manner.SILENT), _shared(plan, Manner.CLOSED)]
    plan.give(apex, *silent, *plan.company_addresses())
    plan.sound.append(apex)


def _silent(plan: Plan, apex: str) -> None:
    plan.give(apex, _shared(plan, Manner.SILENT), _shared(plan, Manner.CLOSED))
    plan.world.zones[apex].unresolvable = True


def _failing(plan: Plan, apex: str) -> None:
    plan.give(apex, _shared(plan, Manner.FAILING))
    plan.world.zones[apex].unresolvable = True


def _private(plan: Plan, apex: str) -> None:
    """Delegated to addresses that no crawler should be sent to."""
    hosts = (f"ns1.{apex}", f"ns2.{apex}")
    plan.add_zone(apex, hosts).unresolvable = True
    rows = ((hosts[0], "A", "10.66.66.66"), (hosts[1], "A", "169.254.169.254"))
    plan.delegate(apex, hosts, rows)


def _chained(plan: Plan, apex: str) -> None:
    """Glue-less over two further zones in other domains."""
    label = apex.partition(".")[0]
    tlds = plan.rng.sample(TLDS, 2)
    hosts = plan.give(f"{label}-2.{tlds[0]}", *plan.company_addresses())
    for here in (f"{label}-1.{tlds[1]}", apex):
        zone = plan.add_zone(here, hosts, *(a for h in hosts for a in plan.addresses_of(h)))
        plan.delegate(here, hosts)
        hosts = tuple(f"glueless{i}.{here}" for i in (1, 2))
        for host, address in zip(hosts, plan.company_addresses(), strict=True):
            zone.add(host, "A", address)
    plan.sound.append(apex)


def _circular(plan: Plan, apex: str) -> None:
    """Two zones, each with host names in the other, or one that only it could resolve."""
    label, _, above = apex.partition(".")
    other = f"{label}-back.{above}"
    mate = apex if plan.rng.random() < 0.3 else other
    for here, there in ((apex, mate), (other, apex)):
        hosts = tuple(f"ns{i}.inner.{there}" for i in (1, 2))
        zone = plan.add_zone(here, hosts, *plan.company_addresses())
        for host, address in zip(hosts, plan.company_addresses(), strict=True):
            plan.world.zones[here].add(f"{host.removesuffix(there)}{here}", "A", address)
        zone.unresolvable = True
        plan.delegate(here, hosts)


def _saved(plan: Plan, apex: str) -> None:
    """A circle that one good host name gets out of."""
    label, _, above = apex.partition(".")
    other = f"{label}-back.{above}"
    good = plan.company().hosts[0]
    address = plan.addresses_of(good)[0]
    for here, hosts in ((apex, (f"ns1.{other}", good)), (other, (f"ns1.{apex}",))):
        zone = plan.add_zone(here, hosts, address)
        zone.add(f"ns1.{here}", "A", address)
        plan.delegate(here, hosts)
    plan.sound += [apex, other]


def _liar(plan: Plan, apex: str) -> None:
    """A zone whose server lies about others, with a cut whose glue is forged."""
    good = plan.company().hosts[0]
    lying, honest = _shared(plan, Manner.LYING), plan.addresses_of(good)[0]
    hosts = plan.give(apex, lying, honest)
    zone = plan.world.zones[apex]
    zone.add(f"alias.{apex}", "CNAME", plan.sound[0])
    zone.add(f"side.{apex}", "A", plan.data_address())
    plan.add_zone(f"sub.{apex}", (good,), honest)
    plan.delegate(f"sub.{apex}", (good,), ((good, "A", lying), (hosts[0], "A", lying)))
    plan.sound.append(apex)


def _strayed(plan: Plan, apex: str) -> None:
    """The parent adds an address that it cannot know for a host in another domain."""
    above = plan.world.zone_of(parent_of(apex)).apex
    abroad = [c for c in plan.companies if not is_within(c.apex, above)]
    host = plan.rng.choice(abroad).hosts[0]
    plan.add_zone(apex, (host,), *plan.addresses_of(host))
    # A root that holds the domain as well may speak for any host, so its word would count.
    rows = () if above == "west" else ((host, "A", _shared(plan, Manner.LYING)),)
    plan.delegate(apex, (host,), rows)
    plan.sound.append(apex)


_FAULTS = (
    _half_lame,
    _half_silent,
    _lame,
    _chained,
    _silent,
    _circular,
    _saved,
    _failing,
    _liar,
    _strayed,
    _private,
)


def _forge(plan: Plan) -> None:
    """What lying servers add: somebody else's zone, the domain above, the root itself."""
    lying = [a for a, m in plan.world.manners.items() if m is Manner.LYING]
    victims = [*plan.sound[:20], plan.companies[0].apex, "test", ""]
    authorities = [(victim, "NS", "ns1.evil.test") for victim in victims[-8:]]
    additionals = [("ns1.evil.test", "A", address) for address in lying]
    for host in plan.companies[0].hosts:
        additionals += [(host, "A", address) for address in lying]
    additionals += [(f"www.{victim}", "A", FORGED_ADDRESS) for victim in victims[:5]]
    plan.world.forged_authorities = tuple(authorities)
    plan.world.forged_additionals = tuple(additionals)


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
        plan.world.questions += [(f"any.wild.{apex}", "A"), (f"a.b.wild.{apex}", "A")]
    asked = [(owner, "A") for owner in zone.owners if "*" not in owner]
    asked += [(apex, "A"), (f"none.{apex}", "A"), (f"no.such.none.{apex}", "A")]
    asked += [(apex, "NS"), (f"www.{apex}", "TXT")]
    plan.world.questions += sorted(asked)
