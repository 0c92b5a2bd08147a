"""Emulated worlds: built from a description and options, with their range files imported."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from django.conf import settings

from core.errors import BadInput
from crawlers.files.domain_list import read_domain_list
from crawlers.sources.wordlist import default_wordlist
from tasks.resolution.engine_factory import load_wordlist
from testbed.files import range_files
from testbed.server import server
from testbed.truth.counting import truth
from testbed.world.model import PublishedRange, PublishedRanges, World
from testbed.worlds.loading import build_world, load_world
from webapp.store.ranges.tables import import_ranges, read_with_date


@dataclass(frozen=True, slots=True)
class WorldOptions:
    """Options of the testbed command."""

    name: str
    scale: str | None = None
    seed: int = 1
    domains: Path | None = None
    ranges: tuple[tuple[str, Path], ...] = ()
    wordlist: Path | None = None


def create_world(options: WorldOptions) -> World:
    """Build a world; raises ``BadInput`` that names the wrong option."""
    return build_world(
        load_world(options.name),
        scale=_scale(options.scale) if options.scale else None,
        seed=options.seed,
        domains=_domains(options.domains),
        range_files=[_ranges(provider, path) for provider, path in options.ranges],
        labels=load_wordlist(options.wordlist),
    )


def _scale(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise BadInput(f"{text!r} is not a fraction such as 1/100", field="scale") from error


def _domains(path: Path | None) -> tuple[str, ...]:
    if not path:
        return ()
    return tuple(e.domain for e in read_domain_list(_read(path)).entries)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error


def _ranges(provider: str, path: Path) -> PublishedRanges:
    """A real range file in the words of the testbed, which knows no reader of them."""
    parsed = read_with_date(provider, _read(path), path.name)
    entries = (PublishedRange(e.prefix, e.provider, e.service, e.region) for e in parsed.entries)
    return PublishedRanges(provider, tuple(entries), path.name)


def publish(world: World, options: WorldOptions) -> Path:
    """Write the world's files and import its ranges under its own name; returns the folder."""
    folder = Path(settings.WORLDS_DIR) / re.sub(r"[/@#]", "-", world.id)
    files = range_files.write_files(world, folder)
    if options.ranges:
        for provider, path in options.ranges:
            import_ranges(provider, _read(path), origin=world.id, file_name=path.name)
        return folder
    for provider in ("aws", "azure", "google"):
        if provider in files:
            data = files[provider].read_bytes()
            import_ranges(provider, data, as_of=world.as_of, origin=world.id)
    return folder


def world_truth(world: World, options: WorldOptions, *, axfr: bool = True) -> dict[str, Any]:
    """The truth for the names that the crawl can find."""
    words = load_wordlist(options.wordlist) or default_wordlist()
    return truth(world, words, axfr=axfr)


def serve_world(
    world: World, addresses: tuple[str, ...], port: int, ready: Callable[[int], None]
) -> None:
    """Answer until it is stopped."""
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
