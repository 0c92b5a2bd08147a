"""The laboratory Internet measured by vantage points inside it, and compared with its truth."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from ipaddress import ip_address, ip_network
from typing import Any

from analysis.campaigns.routes.address_owners import Addresses
from cartography.asn.files import read_origins
from cartography.asn.tables import OriginTable
from core.errors import BadInput, Unavailable
from tasks.campaigns.conclusion import OwnerLookup
from tasks.namespaces import campaigns, links
from tasks.namespaces.campaigns import Extent
from tasks.namespaces.comparison import Seen, compare
from testbed.namespaces import netns
from testbed.namespaces.capabilities import detect_capabilities
from testbed.namespaces.laboratory import Laboratory
from testbed.namespaces.random_topology import draw_topology
from testbed.namespaces.six_by_four import six_by_four
from testbed.namespaces.topology import Topology
from testbed.namespaces.truth import (
    Truth,
    describe,
    exchange_prefixes,
    origin_lines,
    range_file,
    region_prefixes,
)

Row = dict[str, Any]
Report = Callable[[str], None]


def choose_plan(seed: int | None = None) -> Topology:
    """The usual plan, or the random one of a seed."""
    return six_by_four() if seed is None else draw_topology(seed)


def description(plan: Topology) -> Row:
    """What the laboratory is, what is true of it, and whether it can stand here."""
    capabilities = detect_capabilities()
    return {
        **describe(Truth.of(plan)),
        "ability": {**asdict(capabilities), "words": capabilities.summary},
        "origins": origin_lines(plan),
        "ranges": range_file(plan),
        "exchanges": exchange_prefixes(plan),
    }


def open_laboratory(plan: Topology, *, centre: bool = False) -> Laboratory:
    """The laboratory, to be used as a context; raises ``Unavailable`` with the reason.

    With ``centre`` its hosts reach a namespace of the site's.
    """
    capabilities = detect_capabilities()
    if capabilities.reason:
        raise Unavailable(capabilities.summary)
    return Laboratory(plan, centre=centre)


def remove_orphans() -> Row:
    """Remove what ended laboratories left behind; running ones are recognised by their process."""
    links.remove_orphans()
    return {"removed": netns.remove_stale(), "living": netns.list_laboratories()}


def run(extent: Extent, report: Report) -> Row:
    """Measure some rounds from processes at each host, keep them, compare them with the truth.

    Raises ``BadInput`` and ``Unavailable``.
    """
    plan = six_by_four()
    ases = {n.asn for n in plan.nodes if n.asn != plan.cloud_asn}
    if extent.failing and extent.failing not in ases:
        raise BadInput(f"AS{extent.failing} is not in the laboratory", field="failing")
    if extent.rounds < 1 + bool(extent.failing):
        raise BadInput("there is at least one round, and one more before a failure", field="rounds")
    names = {n.asn: n.name.partition("-")[0] for n in plan.of_kind("router")}
    addresses = build_addresses(plan)
    with open_laboratory(plan, centre=True) as lab:
        before = lab.truth
        with links.Field(lab, campaigns.hosts(plan, extent)) as field:
            report(f"{len(field.workers)} vantage points have joined")
            each_s = field.joined_in_s / len(field.workers)
            tempo = campaigns.Tempo(extent, lab.built_in_s, each_s)
            found = campaigns.create_campaigns(plan, extent, tempo)
            try:
                campaigns.Course(lab, extent, OwnerLookup(addresses, names)).run(found, report)
            finally:
                campaigns.close_old()
        after = lab.truth
    seen = Seen(*found, addresses, extent)
    return {"campaign": found[0].slug, "outwards": found[1].slug, **compare(seen, before, after)}


def build_addresses(plan: Topology) -> Addresses:
    """Owners of the addresses of the laboratory, by its own tables."""
    origins = OriginTable.build(read_origins(origin_lines(plan).encode()))
    ranges = [(ip_network(prefix), region) for prefix, region in region_prefixes(plan)]

    def clouds(addresses: Sequence[str]) -> list[tuple[str, str]]:
        found = (next((r for n, r in ranges if ip_address(a) in n), "") for a in addresses)
        return [(plan.provider, region) if region else ("", "") for region in found]

    own = {plan.provider: frozenset({plan.cloud_asn})}
    return Addresses(origins.find_many, clouds, exchange_prefixes(plan), own)
