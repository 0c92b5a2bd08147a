"""Options and files of a person go in; a question to the choice of regions comes out, checked.

The command, the API and the pages give the same names of options and files.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from analysis.consequences.availability import Assumed
from analysis.consequences.places import (
    Client,
    Region,
    describe_regions,
    read_clients,
    read_populations,
    read_regions,
)
from analysis.consequences.prices import Prices, Traffic, read_prices
from analysis.consequences.routes import Routes, read_routes
from analysis.matrices import MOST_CELLS, read_samples, read_weights
from analysis.regions import Constraints, Measure, Missing, Objective, Presence, Samples
from core.errors import BadInput

# Sizes of sets in one question.
MOST_SIZES = 32
# Files besides the samples, by the name of their option.
FILES = ("weights", "regions", "clients", "isps", "prices", "populations", "beside")
_RANGE = re.compile(r"(\d{1,4})(?:\.\.(\d{1,4}))?")
_PRESENCE = re.compile(r"(.+?)(?::(\d{1,3}))?")
# Read as numbers: name, least and greatest value.
_BOUNDS = {
    "time_limit_s": (0.01, 3600.0),
    "within": (0.0, 1.0),
    "draws": (0, 10_000),
    "seed": (0, 2**32 - 1),
    "per_provider": (1, 10_000),
    "price_ceiling": (0.0, 1e12),
    "penalty": (0.0, 1e12),
    "traffic_gb": (0.0, 1e15),
    "between_gb": (0.0, 1e15),
    "region_availability": (0.0, 1.0),
    "zone_availability": (0.0, 1.0),
    "provider_availability": (0.0, 1.0),
}


@dataclass(frozen=True)
class Known:
    """What was brought besides samples; ``beside`` is the other measure in the same regions."""

    regions: Mapping[str, Region] = field(default_factory=dict)
    clients: Mapping[str, Client] = field(default_factory=dict)
    routes: Routes = field(default_factory=dict)
    prices: Prices | None = None
    traffic: Traffic = field(default_factory=Traffic)
    populations: Mapping[str, Client] = field(default_factory=dict)
    beside: Samples | None = None
    assumed: Assumed = field(default_factory=Assumed)


@dataclass(frozen=True)
class Question:
    """Which sets to find, and what to tell of them."""

    samples: Samples
    objective: Objective
    ks: tuple[int, ...]
    constraints: Constraints
    known: Known
    current: tuple[str, ...] = ()
    time_limit_s: float = 60.0
    within: float = 0.0
    draws: int = 200
    seed: int = 1


def ask(
    samples: Path,
    files: Mapping[str, Path],
    options: Mapping[str, Any],
    most_cells: int = MOST_CELLS,
) -> Question:
    """Give the question that options and files ask; raises BadInput naming the line or field."""
    strange = sorted(set(files) - set(FILES))
    if strange:
        raise BadInput("no such file is taken", field=strange[0])
    weights = _read(files, "weights", read_weights)
    found = read_samples(samples, weights, most_cells)
    known = _known(found, files, options, most_cells)
    current = tuple(dict.fromkeys(options.get("current") or ()))
    for name in current:
        if name not in found.regions:
            raise BadInput(f"no samples of the region {name!r}", field="current")
    numbers = {name: _number(options, name) for name in ("time_limit_s", "within", "draws", "seed")}
    given = {name: value for name, value in numbers.items() if value is not None}
    for name in ("draws", "seed"):
        if name in given:
            given[name] = int(given[name])
    ks = sizes(options.get("k"), len(found.regions))
    rules = _constraints(found, known, options)
    return Question(found, _objective(options), ks, rules, known, current, **given)


def sizes(text: str | int | None, n_regions: int) -> tuple[int, ...]:
    """Read sizes of sets such as 5, 1..8 or 1,3,5; raises BadInput."""
    if text is None or text == "":
        return tuple(range(1, min(8, n_regions) + 1))
    found: set[int] = set()
    for part in str(text).split(","):
        match = _RANGE.fullmatch(part.strip())
        if not match:
            raise BadInput(f"{part!r} is neither a size such as 5 nor a range 1..8", field="k")
        first = int(match[1])
        found.update(range(first, int(match[2] or first) + 1))
    if not found or not 1 <= min(found) <= max(found) <= n_regions:
        raise BadInput(f"{text} asks for what is not between 1 and {n_regions} regions", field="k")
    if len(found) > MOST_SIZES:
        raise BadInput(f"{len(found)} sizes at once are over {MOST_SIZES}", field="k")
    return tuple(sorted(found))


def _objective(options: Mapping[str, Any]) -> Objective:
    measure = _one_of(options, "objective", Measure, Measure.LATENCY)
    missing = _one_of(options, "missing", Missing, Missing.PENALTY)
    percentile = options.get("percentile")
    if percentile is not None and isinstance(percentile, str):
        raise BadInput("a percentile is a number", field="percentile")
    penalty = _number(options, "penalty")
    if penalty is not None and missing is Missing.EXCLUDE:
        raise BadInput("excluded answers have no penalty; give one of the two", field="penalty")
    return Objective(measure, percentile, missing, penalty)


def _one_of(options: Mapping[str, Any], name: str, kind: Any, usual: Any) -> Any:
    text = options.get(name)
    if text in (None, ""):
        return usual
    if text not in [str(member) for member in kind]:
        known = ", ".join(str(member) for member in kind)
        raise BadInput(f"{text!r} is none of {known}", field=name)
    return kind(text)


def _number(options: Mapping[str, Any], name: str) -> Any:
    value = options.get(name)
    if value is None:
        return None
    low, high = _BOUNDS[name]
    if not isinstance(value, int | float) or not low <= value <= high:
        raise BadInput(f"{value} is not between {low:g} and {high:g}", field=name.replace("_", "-"))
    return value


def _constraints(samples: Samples, known: Known, options: Mapping[str, Any]) -> Constraints:
    def names(key: str) -> frozenset[str]:
        return frozenset(options.get(key) or ())

    for key in ("include", "exclude"):
        for name in sorted(names(key) - set(samples.regions)):
            raise BadInput(f"no samples of the region {name!r}", field=key)
    both = sorted(names("include") & names("exclude"))
    if both:
        raise BadInput(f"{both[0]!r} is to be in and out at once", field="include")
    providers = frozenset(name.lower() for name in names("provider"))
    return Constraints(
        include=names("include"),
        exclude=names("exclude"),
        providers=_allowed(known, "provider", providers),
        per_provider=_number(options, "per_provider"),
        countries=_allowed(known, "country", frozenset(n.upper() for n in names("country"))),
        continents=_allowed(known, "continent", frozenset(n.lower() for n in names("continent"))),
        presence=tuple(_presence(text) for text in options.get("presence") or ()),
        price_ceiling=_number(options, "price_ceiling"),
        survive_loss=bool(options.get("survive_loss")),
        facts={name: known.regions[name].facts() for name in samples.regions},
    )


def _allowed(known: Known, what: str, names: frozenset[str]) -> frozenset[str]:
    """Names of a fact that some region has; raises BadInput, since a slip would allow nothing."""
    there = {getattr(region, what) for region in known.regions.values()} - {""}
    for name in sorted(names - there):
        listed = ", ".join(sorted(there)) or "none is known; bring them with a table of regions"
        raise BadInput(f"no region has the {what} {name!r}: {listed}", field=what)
    return names


def _presence(text: str) -> Presence:
    match = _PRESENCE.fullmatch(text.strip())
    within = frozenset(name.strip() for name in match[1].split(",")) - {""} if match else None
    if not match or not within:
        raise BadInput(f"{text!r} is not a list of places such as DE,FR:2", field="presence")
    return Presence(within, int(match[2] or 1))


def _known(
    samples: Samples, files: Mapping[str, Path], options: Mapping[str, Any], most_cells: int
) -> Known:
    prices = _bytes(files, "prices", read_prices)
    brought = _bytes(files, "regions", read_regions) or {}
    regions = describe_regions(samples.regions, brought)
    if prices:
        regions = {
            name: region if region.price is not None else _priced(region, prices, name)
            for name, region in regions.items()
        }
    beside = files.get("beside")
    usual = Assumed()
    shares = {
        part: _number(options, f"{part}_availability") for part in ("region", "zone", "provider")
    }
    return Known(
        regions=regions,
        clients=_bytes(files, "clients", read_clients) or {},
        routes=_bytes(files, "isps", read_routes) or {},
        prices=prices,
        traffic=Traffic(
            _number(options, "traffic_gb") or 0.0, _number(options, "between_gb") or 0.0
        ),
        populations=_bytes(files, "populations", read_populations) or {},
        beside=read_samples(beside, None, most_cells) if beside else None,
        assumed=replace(usual, **{part: v for part, v in shares.items() if v is not None}),
    )


def _priced(region: Region, prices: Prices, name: str) -> Region:
    return replace(region, price=prices.running.get(name))


def _read(files: Mapping[str, Path], name: str, reader: Any) -> Any:
    path = files.get(name)
    if path is None:
        return None
    try:
        return reader(path)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}", field=name) from error


def _bytes(files: Mapping[str, Path], name: str, reader: Any) -> Any:
    return _read(files, name, lambda path: reader(path.read_bytes()))
