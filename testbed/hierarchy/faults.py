"""Faulty delegations: one function per kind, each adding a zone to a hierarchy."""

from testbed.hierarchy.builder import HierarchyBuilder
from testbed.hierarchy.internet import FORGED_ADDRESS, ServerBehaviour, is_within, parent_of

TLDS = ("test", "north", "south", "east", "west")
# A domain with servers that truncate every UDP answer.
LONG = "long"


def _partly_lame(builder: HierarchyBuilder, apex: str) -> None:
    """Working servers next to two faulty ones."""
    bad = (
        ServerBehaviour.REFUSING,
        ServerBehaviour.UPWARD,
        ServerBehaviour.STALE,
        ServerBehaviour.FAILING,
    )
    addresses = [builder.shared_address(behaviour) for behaviour in builder.rng.sample(bad, 2)]
    builder.add_delegated_zone(apex, *addresses, *builder.hosting_addresses())
    builder.resolvable.append(apex)


def _lame(builder: HierarchyBuilder, apex: str) -> None:
    builder.add_delegated_zone(
        apex,
        builder.shared_address(ServerBehaviour.REFUSING),
        builder.shared_address(ServerBehaviour.UPWARD),
    )
    builder.world.zones[apex].unresolvable = True


def _partly_silent(builder: HierarchyBuilder, apex: str) -> None:
    silent = [
        builder.shared_address(ServerBehaviour.SILENT),
        builder.shared_address(ServerBehaviour.CLOSED),
    ]
    builder.add_delegated_zone(apex, *silent, *builder.hosting_addresses())
    builder.resolvable.append(apex)


def _silent(builder: HierarchyBuilder, apex: str) -> None:
    builder.add_delegated_zone(
        apex,
        builder.shared_address(ServerBehaviour.SILENT),
        builder.shared_address(ServerBehaviour.CLOSED),
    )
    builder.world.zones[apex].unresolvable = True


def _failing(builder: HierarchyBuilder, apex: str) -> None:
    builder.add_delegated_zone(apex, builder.shared_address(ServerBehaviour.FAILING))
    builder.world.zones[apex].unresolvable = True


def _private_glue(builder: HierarchyBuilder, apex: str) -> None:
    """Delegated to addresses that no crawler should be sent to."""
    hosts = (f"ns1.{apex}", f"ns2.{apex}")
    builder.add_zone(apex, hosts).unresolvable = True
    rows = ((hosts[0], "A", "10.66.66.66"), (hosts[1], "A", "169.254.169.254"))
    builder.delegate(apex, hosts, rows)


def _chained_glueless(builder: HierarchyBuilder, apex: str) -> None:
    """Glue-less over two further zones in other domains."""
    label = apex.partition(".")[0]
    tlds = builder.rng.sample(TLDS, 2)
    hosts = builder.add_delegated_zone(f"{label}-2.{tlds[0]}", *builder.hosting_addresses())
    for here in (f"{label}-1.{tlds[1]}", apex):
        zone = builder.add_zone(here, hosts, *(a for h in hosts for a in builder.addresses_of(h)))
        builder.delegate(here, hosts)
        hosts = tuple(f"glueless{i}.{here}" for i in (1, 2))
        for host, address in zip(hosts, builder.hosting_addresses(), strict=True):
            zone.add(host, "A", address)
    builder.resolvable.append(apex)


def _circular(builder: HierarchyBuilder, apex: str) -> None:
    """Two zones, each with host names in the other, or one that only it could resolve."""
    label, _, above = apex.partition(".")
    other = f"{label}-back.{above}"
    mate = apex if builder.rng.random() < 0.3 else other
    for here, there in ((apex, mate), (other, apex)):
        hosts = tuple(f"ns{i}.inner.{there}" for i in (1, 2))
        zone = builder.add_zone(here, hosts, *builder.hosting_addresses())
        for host, address in zip(hosts, builder.hosting_addresses(), strict=True):
            builder.world.zones[here].add(f"{host.removesuffix(there)}{here}", "A", address)
        zone.unresolvable = True
        builder.delegate(here, hosts)


def _partly_circular(builder: HierarchyBuilder, apex: str) -> None:
    """A circular dependency that one resolvable host name breaks."""
    label, _, above = apex.partition(".")
    other = f"{label}-back.{above}"
    good = builder.choose_hosting_zone().hosts[0]
    address = builder.addresses_of(good)[0]
    for here, hosts in ((apex, (f"ns1.{other}", good)), (other, (f"ns1.{apex}",))):
        zone = builder.add_zone(here, hosts, address)
        zone.add(f"ns1.{here}", "A", address)
        builder.delegate(here, hosts)
    builder.resolvable += [apex, other]


def _poisoning(builder: HierarchyBuilder, apex: str) -> None:
    """A zone with a server that forges records of others, with a delegation with forged glue."""
    good = builder.choose_hosting_zone().hosts[0]
    forging, honest = builder.shared_address(ServerBehaviour.FORGING), builder.addresses_of(good)[0]
    hosts = builder.add_delegated_zone(apex, forging, honest)
    zone = builder.world.zones[apex]
    zone.add(f"alias.{apex}", "CNAME", builder.resolvable[0])
    zone.add(f"side.{apex}", "A", builder.data_address())
    builder.add_zone(f"sub.{apex}", (good,), honest)
    builder.delegate(f"sub.{apex}", (good,), ((good, "A", forging), (hosts[0], "A", forging)))
    builder.resolvable.append(apex)


def _out_of_bailiwick_glue(builder: HierarchyBuilder, apex: str) -> None:
    """The parent adds an address that it cannot know for a host in another domain."""
    above = builder.world.zone_of(parent_of(apex)).apex
    abroad = [c for c in builder.hosting_zones if not is_within(c.apex, above)]
    host = builder.rng.choice(abroad).hosts[0]
    builder.add_zone(apex, (host,), *builder.addresses_of(host))
    # A root that holds the domain as well is in bailiwick for any host.
    rows = (
        () if above == "west" else ((host, "A", builder.shared_address(ServerBehaviour.FORGING)),)
    )
    builder.delegate(apex, (host,), rows)
    builder.resolvable.append(apex)


def _stale_glue(builder: HierarchyBuilder, apex: str) -> None:
    """The parent's glue is stale; the current address can be resolved."""
    above = builder.world.zone_of(parent_of(apex)).apex
    near = [c for c in builder.hosting_zones if is_within(c.apex, above)] or builder.hosting_zones
    host = builder.rng.choice(near).hosts[0]
    builder.add_zone(apex, (host,), *builder.addresses_of(host))
    builder.delegate(
        apex, (host,), ((host, "A", builder.shared_address(ServerBehaviour.REFUSING)),)
    )
    builder.resolvable.append(apex)


def _aliased_name_server(builder: HierarchyBuilder, apex: str) -> None:
    """The name server's name is an alias, which RFC 2181 forbids and which happens."""
    company = builder.choose_hosting_zone()
    host = f"alias{len(builder.resolvable)}.{company.apex}"
    company.add(host, "CNAME", company.hosts[0])
    builder.add_zone(apex, (host,), *builder.addresses_of(company.hosts[0]))
    builder.delegate(apex, (host,))
    builder.resolvable.append(apex)


def _with_dname(builder: HierarchyBuilder, apex: str) -> None:
    """A subtree redirected to another zone (DNAME)."""
    _hosted(builder, apex)
    zone = builder.world.zones[apex]
    target = builder.rng.choice(builder.resolvable)
    zone.add(f"old.{apex}", "DNAME", target)
    zone.add(f"into.{apex}", "CNAME", f"www.old.{apex}")
    names = (f"www.old.{apex}", f"no.such.old.{apex}", f"old.{apex}", target)
    builder.world.questions += [(name, "A") for name in names]
    builder.resolvable.append(apex)


def _hosted(builder: HierarchyBuilder, apex: str) -> None:
    hosts = builder.choose_hosting_zone().hosts[:2]
    builder.add_zone(apex, hosts, *(a for h in hosts for a in builder.addresses_of(h)))
    builder.delegate(apex, hosts)


def _truncated(builder: HierarchyBuilder, apex: str) -> None:
    """Below a domain with servers that answer only over TCP."""
    if LONG not in builder.world.zones:
        builder.add_delegated_zone(
            LONG, *(builder.new_address(ServerBehaviour.TRUNCATING) for _ in range(2))
        )
    apex = f"{apex.partition('.')[0]}.{LONG}"
    builder.add_delegated_zone(apex, *builder.hosting_addresses())
    builder.resolvable.append(apex)


def _ipv6_only(builder: HierarchyBuilder, apex: str) -> None:
    """One zone with IPv6 glue only, and one without glue."""
    if not builder.ipv6:
        _stale_glue(builder, apex)
        return
    builder.world.held.setdefault("::1", [])
    label, _, above = apex.partition(".")
    host = f"ns6.{apex}"
    for here in (apex, f"{label}-six.{builder.rng.choice(('test', 'north'))}"):
        builder.add_zone(here, (host,), "::1")
        builder.delegate(here, (host,), ((host, "AAAA", "::1"),) if here == apex else ())
        builder.resolvable.append(here)
    builder.world.zones[apex].add(host, "AAAA", "::1")


FAULTS = (
    _partly_lame,
    _partly_silent,
    _lame,
    _chained_glueless,
    _silent,
    _circular,
    _partly_circular,
    _failing,
    _poisoning,
    _out_of_bailiwick_glue,
    _private_glue,
    _stale_glue,
    _aliased_name_server,
    _with_dname,
    _truncated,
    _ipv6_only,
)


def add_forged_records(builder: HierarchyBuilder) -> None:
    """Set the records that forging servers add: of unrelated zones, the parent, the root."""
    forging = [a for a, m in builder.world.behaviours.items() if m is ServerBehaviour.FORGING]
    victims = [*builder.resolvable[:20], builder.hosting_zones[0].apex, "test", ""]
    authorities = [(victim, "NS", "ns1.evil.test") for victim in victims[-8:]]
    additionals = [("ns1.evil.test", "A", address) for address in forging]
    for host in builder.hosting_zones[0].hosts:
        additionals += [(host, "A", address) for address in forging]
    additionals += [(f"www.{victim}", "A", FORGED_ADDRESS) for victim in victims[:5]]
    builder.world.forged_authorities = tuple(authorities)
    builder.world.forged_additionals = tuple(additionals)
