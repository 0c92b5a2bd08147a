"""Loading of world files and building of worlds.

``load_world`` reads and checks a specification, ``build_world`` makes it concrete for a scale
and a seed. Equal arguments give an equal world.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from core.errors import BadInput
from core.paths import FIXTURES
from testbed.files.prefix_inventory import invent_ranges
from testbed.generate.addresses.allocator import build_allocator, validate_ranges
from testbed.world.model import PublishedRanges, World
from testbed.worlds.audit_zones import build_audit_world
from testbed.worlds.explicit import build_explicit
from testbed.worlds.generated import Request, build_generated
from testbed.worlds.wildcard_zones import build_wildcard_world

FOLDER = FIXTURES / "worlds"
WORDLIST = FOLDER.parent / "wordlists" / "subdomains.txt"
# Hosts of a world carry the commonest labels only, so that a word list may grow without changing
# any world: a world is named by its scale and seed, and has to name what it was.
_COMMON_LABELS = 554
KINDS = ("audit", "explicit", "generated", "wild")


@dataclass(frozen=True, slots=True)
class WorldSpec:
    """A world file: its name, its kind (one of ``KINDS``) and its content."""

    name: str
    kind: str
    raw: Mapping[str, Any]


def list_worlds() -> tuple[str, ...]:
    """Names of the worlds that come with the product."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def load_world(name_or_path: str | Path) -> WorldSpec:
    """Read a world file by name (``imc2013``) or path; raises ``BadInput`` with the reason."""
    path = Path(name_or_path)
    if path.suffix != ".toml":
        path = FOLDER / f"{name_or_path}.toml"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        known = ", ".join(list_worlds())
        raise BadInput(f"no world {name_or_path}: give a .toml file or one of {known}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise BadInput(f"{path.name}: {error}") from error
    return _checked(raw, path.name)


def named_domains(name: str) -> tuple[str, ...]:
    """The domains that a world of the product keeps at their published size at every scale."""
    if name not in list_worlds():
        return ()
    return tuple(str(entry["domain"]) for entry in load_world(name).raw.get("starred", ()))


def _checked(raw: dict[str, Any], source: str) -> WorldSpec:
    for key in ("name", "kind", "as_of", "regions"):
        if key not in raw:
            raise BadInput(f"missing in {source}", field=key)
    if raw["kind"] not in KINDS:
        raise BadInput(f"{raw['kind']}: must be one of {', '.join(KINDS)}", field="kind")
    if not isinstance(raw["as_of"], date):
        raise BadInput(f"{raw['as_of']}: must be a date such as 2013-03-29", field="as_of")
    return WorldSpec(str(raw["name"]), str(raw["kind"]), raw)


def build_world(
    spec: WorldSpec | str,
    *,
    scale: Fraction | None = None,
    seed: int = 1,
    domains: Sequence[str] | None = None,
    range_files: Sequence[PublishedRanges] | None = None,
    labels: Sequence[str] | None = None,
) -> World:
    """Build a world.

    ``scale`` is the share of the published counts (default 1/100); with ``domains``, names in
    rank order that the world is built on, it follows from their number unless given.
    ``range_files`` are real published prefixes to draw addresses from; without them prefixes
    are invented. ``labels`` are the host names that a word list finds, by popularity; the
    default is the commonest of the product's own list. Raises ``BadInput``.
    """
    if isinstance(spec, str):
        spec = load_world(spec)
    ranges = validate_ranges(range_files or invent_ranges(spec.raw["regions"]))
    allocator = build_allocator(ranges)
    if spec.kind == "explicit":
        return build_explicit(spec.raw, allocator, ranges, seed)
    if spec.kind == "audit":
        return build_audit_world(spec.raw, scale, seed, allocator, ranges)
    if spec.kind == "wild":
        every = tuple(labels) if labels else read_labels(common=None)
        return build_wildcard_world(spec.raw, scale, seed, every, allocator, ranges)
    known = tuple(labels) if labels else read_labels()
    return build_generated(spec.raw, Request(scale, seed, domains, known), allocator, ranges)


def read_labels(path: Path = WORDLIST, common: int | None = _COMMON_LABELS) -> tuple[str, ...]:
    """The commonest labels of a word list, in its order; comments and empty lines left out."""
    lines = (line.strip().lower() for line in path.read_text(encoding="utf-8").splitlines())
    labels = dict.fromkeys(line for line in lines if line and not line.startswith("#"))
    return tuple(labels)[:common]
