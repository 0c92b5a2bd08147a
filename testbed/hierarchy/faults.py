"""Delegations that go wrong, or nearly: one function per kind, each adding a zone to a draft."""

from testbed.hierarchy.draft import Plan
from testbed.hierarchy.internet import FORGED_ADDRESS, Manner, is_within, parent_of

TLDS = ("test", "north", "south", "east", "west")
# A domain whose servers cut every answer by UDP short.
LONG = "long"


def _half_lame(plan: Plan, apex: str) -> None:
    """Good servers beside one of every kind that is none."""
    bad = (Manner.REFUSING, Manner.UPWARD, Manner.STALE, Manner.FAILING)
    addresses = [plan.shared(manner) for manner in plan.rng.sample(bad, 2)]
    plan.give(apex, *addresses, *plan.company_addresses())
    plan.sound.append(apex)


def _lame(plan: Plan, apex: str) -> None:
    plan.give(apex, plan.shared(Manner.REFUSING), plan.shared(Manner.UPWARD))
    plan.world.zones[apex].unresolvable = True


def _half_silent(plan: Plan, apex: str) -> None:
    silent = [plan.shared(Manner.SILENT), plan.shared(Manner.CLOSED)]
    plan.give(apex, *silent, *plan.company_addresses())
    plan.sound.append(apex)


def _silent(plan: Plan, apex: str) -> None:
    plan.give(apex, plan.shared(Manner.SILENT), plan.shared(Manner.CLOSED))
    plan.world.zones[apex].unresolvable = True


def _failing(plan: Plan, apex: str) -> None:
    plan.give(apex, plan.shared(Manner.FAILING))
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
    lying, honest = plan.shared(Manner.LYING), plan.addresses_of(good)[0]
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
    rows = () if above == "west" else ((host, "A", plan.shared(Manner.LYING)),)
    plan.delegate(apex, (host,), rows)
    plan.sound.append(apex)


def _outdated(plan: Plan, apex: str) -> None:
    """The parent's glue is an address from before; the true one can be asked for."""
    above = plan.world.zone_of(parent_of(apex)).apex
    near = [c for c in plan.companies if is_within(c.apex, above)] or plan.companies
    host = plan.rng.choice(near).hosts[0]
    plan.add_zone(apex, (host,), *plan.addresses_of(host))
    plan.delegate(apex, (host,), ((host, "A", plan.shared(Manner.REFUSING)),))
    plan.sound.append(apex)


def _aliased(plan: Plan, apex: str) -> None:
    """The name server's name is an alias, which RFC 2181 forbids and which happens."""
    company = plan.company()
    host = f"alias{len(plan.sound)}.{company.apex}"
    company.add(host, "CNAME", company.hosts[0])
    plan.add_zone(apex, (host,), *plan.addresses_of(company.hosts[0]))
    plan.delegate(apex, (host,))
    plan.sound.append(apex)


def _renamed(plan: Plan, apex: str) -> None:
    """A subtree that stands for that of another zone (DNAME)."""
    _on_company(plan, apex)
    zone = plan.world.zones[apex]
    target = plan.rng.choice(plan.sound)
    zone.add(f"old.{apex}", "DNAME", target)
    zone.add(f"into.{apex}", "CNAME", f"www.old.{apex}")
    names = (f"www.old.{apex}", f"no.such.old.{apex}", f"old.{apex}", target)
    plan.world.questions += [(name, "A") for name in names]
    plan.sound.append(apex)


def _on_company(plan: Plan, apex: str) -> None:
    hosts = plan.company().hosts[:2]
    plan.add_zone(apex, hosts, *(a for h in hosts for a in plan.addresses_of(h)))
    plan.delegate(apex, hosts)


def _truncated(plan: Plan, apex: str) -> None:
    """Below a domain whose servers answer by TCP only."""
    if LONG not in plan.world.zones:
        plan.give(LONG, *(plan.new_address(Manner.TRUNCATING) for _ in range(2)))
    apex = f"{apex.partition('.')[0]}.{LONG}"
    plan.give(apex, *plan.company_addresses())
    plan.sound.append(apex)


def _ipv6_only(plan: Plan, apex: str) -> None:
    """One zone with IPv6 glue and nothing else, and one whose server has to be asked for."""
    if not plan.ipv6:
        _outdated(plan, apex)
        return
    plan.world.held.setdefault("::1", [])
    label, _, above = apex.partition(".")
    host = f"ns6.{apex}"
    for here in (apex, f"{label}-six.{plan.rng.choice(('test', 'north'))}"):
        plan.add_zone(here, (host,), "::1")
        plan.delegate(here, (host,), ((host, "AAAA", "::1"),) if here == apex else ())
        plan.sound.append(here)
    plan.world.zones[apex].add(host, "AAAA", "::1")


FAULTS = (
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
    _outdated,
    _aliased,
    _renamed,
    _truncated,
    _ipv6_only,
)


def forge(plan: Plan) -> None:
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
