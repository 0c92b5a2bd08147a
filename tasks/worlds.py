"""Emulated worlds: built from a description and options, with their range files imported."""

import ipaddress
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from django.conf import settings

from cartography.prefixes import PrefixTable
from cartography.ranges import RangeEntry, RangeFile
from core.errors import BadInput
from core.statuses import AddressKind
from crawlers.names import read_domain_list
from crawlers.wordlist import default_wordlist
from tasks.resolvers import load_wordlist
from testbed import rangefiles, server
from testbed.addresses import COMPUTE, EDGE
from testbed.truth import truth
from testbed.worlds import Making, World, build_world, load_world
from webapp.store.ranges import import_ranges, read_with_date


@dataclass(frozen=True, slots=True)
class WorldOptions:
    """Options of the testbed command."""

    name: str
    scale: str = "1/1000"
    seed: int = 1
    domains: str | None = None
    ranges: tuple[str, ...] = ()
    wordlist: str | None = None


def make_world(options: WorldOptions) -> World:
    """Build a world; raises ``BadInput`` that names the option to mend."""
    words = load_wordlist(options.wordlist) or default_wordlist()
    making = Making(
        scale=_scale(options.scale),
        seed=options.seed,
        labels=words,
        domains=_domains(options.domains),
        blocks=_blocks([_named_file(text) for text in options.ranges]),
    )
    return build_world(load_world(options.name), making)


def _scale(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise BadInput(f"{text!r} is not a fraction such as 1/100", field="scale") from error


def _domains(path: str | None) -> tuple[str, ...]:
    if not path:
        return ()
    return tuple(e.domain for e in read_domain_list(_read(path)).entries)


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error


def _named_file(text: str) -> tuple[str, bytes, str]:
    provider, _, path = text.partition("=")
    if not path:
        raise BadInput(f"{text!r} is not PROVIDER=FILE", field="ranges")
    return provider, _read(path), Path(path).name


def _blocks(files: list[tuple[str, bytes, str]]) -> dict[tuple[str, str, str], list[str]] | None:
    """Prefixes of real files that hold addresses of one label only, by place and service."""
    if not files:
        return None
    parsed = [read_with_date(provider, data, name) for provider, data, name in files]
    table = PrefixTable.build(parsed)
    blocks: dict[tuple[str, str, str], list[str]] = {}
    for entry in _single_labelled(parsed, table):
        service = EDGE if entry.kind == AddressKind.CDN else COMPUTE
        region = "" if service == EDGE else entry.region or ""
        found = blocks.setdefault((entry.provider, region, service), [])
        if entry.prefix not in found:
            found.append(entry.prefix)
    return {k: v for k, v in blocks.items() if k[1] or k[2] == EDGE}


def _single_labelled(files: list[RangeFile], table: PrefixTable) -> list[RangeEntry]:
    """IPv4 entries that no other prefix lies in, of services that carry web front ends."""
    wanted = ("EC2", "CLOUDFRONT", "AzureCloud", "Google Cloud")
    entries = [e for f in files for e in f.entries if e.service in wanted and ":" not in e.prefix]
    starts = sorted(table.boundaries(4))
    return [e for e in entries if _is_whole(e, starts, table)]


def _is_whole(entry: RangeEntry, starts: list[int], table: PrefixTable) -> bool:
    network = ipaddress.ip_network(entry.prefix)
    first, last = int(network.network_address), int(network.broadcast_address)
    whole = bisect_right(starts, last) == bisect_right(starts, first)
    place = table.place(str(network.network_address))
    return (
        whole
        and network.num_addresses >= 16
        and place.prefix == entry.prefix
        and place.service == entry.service
    )


def publish(world: World, options: WorldOptions) -> Path:
    """Write the world's files and import its ranges under its own name; returns the folder."""
    folder = Path(settings.WORLDS_DIR) / re.sub(r"[/@#]", "-", world.id)
    files = rangefiles.write_files(world, folder)
    if options.ranges:
        for provider, data, name in (_named_file(text) for text in options.ranges):
            import_ranges(provider, data, origin=world.id, file_name=name)
        return folder
    as_of = _world_date(world)
    for provider in ("aws", "azure"):
        data = files[provider].read_bytes()
        import_ranges(provider, data, as_of=as_of, origin=world.id)
    return folder


def _world_date(world: World) -> date:
    return date.fromisoformat(world.date)


def world_truth(world: World, options: WorldOptions, *, axfr: bool = True) -> dict[str, Any]:
    """The truth for the names that the crawl can find."""
    words = load_wordlist(options.wordlist) or default_wordlist()
    return truth(world, words, axfr=axfr)


def serve_world(
    world: World, addresses: tuple[str, ...], port: int, ready: Callable[[int], None]
) -> None:
    """Answer until told to stop."""
    server.serve(world, addresses, port, ready)


def options_from(values: Mapping[str, Any]) -> WorldOptions:
    """Options of the command line."""
    return WorldOptions(
        name=values["world"],
        scale=values["scale"],
        seed=values["seed"],
        domains=values["domains"],
        ranges=tuple(values["ranges"]),
        wordlist=values["wordlist"],
    )
