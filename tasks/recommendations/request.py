"""Parse and validate a user's options and files into a recommendation request.

The command, the API and the pages give the same names of options and files.
"""

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from analysis.impact.availability import Assumed
from analysis.impact.carbon import MAX_G_PER_KWH, Carbon, read_carbon
from analysis.impact.costs.price_lists import PriceList, read_price_list
from analysis.impact.domain_regret import DomainUse, read_domain_uses, read_group_clients
from analysis.impact.places import (
    Client,
    Region,
    describe_regions,
    read_clients,
    read_populations,
    read_regions,
)
from analysis.impact.prices import Prices, Traffic, read_prices
from analysis.impact.routes import Routes, read_routes
from analysis.optimization import Constraints, Facts, Measure, Missing, Objective, Presence, Samples
from analysis.optimization.files.matrices import (
    MAX_CELLS,
    read_city_pairs,
    read_samples,
    read_square,
    read_weights,
)
from analysis.optimization.model.samples import client_weights
from core.errors import BadInput
from tasks.recommendations.option_checks import check_joint, check_worst_country

# Sizes of sets in one question.
MAX_SIZES = 32
# Files besides the samples, by the name of their option.
FILES = (
    *("weights", "regions", "clients", "isps", "prices", "price_list", "populations", "beside"),
    *("domains", "group_clients", "carbon"),
)
# Forms of samples: the CSV of the command, a square table of numbers, pings between cities.
FORMS = ("samples", "square", "city-pairs")
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
    "min_zones": (1, 20),
    "min_isps": (1, 1000),
    "max_carbon": (0.0, MAX_G_PER_KWH),
    "budget": (0.0, 1e12),
    "joint_budget": (1, 1_000_000),
    "joint_cost": (0.0, 1e12),
    "after_loss_ms": (0.001, 1e6),
    "after_loss_share": (0.0, 0.999),
    "penalty": (0.0, 1e12),
    "traffic_gb": (0.0, 1e15),
    "between_gb": (0.0, 1e15),
    "region_availability": (0.0, 1.0),
    "zone_availability": (0.0, 1.0),
    "provider_availability": (0.0, 1.0),
}


_WHOLE = ("draws", "seed", "per_provider", "min_zones", "min_isps", "joint_budget")


@dataclass(frozen=True, eq=False)
class Known:
    """Contents of the files; ``beside`` is the other measure in the same regions."""

    samples: Samples
    regions: Mapping[str, Region] = field(default_factory=dict)
    clients: Mapping[str, Client] = field(default_factory=dict)
    routes: Routes = field(default_factory=dict)
    prices: Prices | None = None
    price_list: PriceList | None = None
    populations: Mapping[str, Client] = field(default_factory=dict)
    beside: Samples | None = None
    domains: Sequence[DomainUse] = ()
    # Weights of clients, by group of domains.
    group_clients: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    carbon: Carbon = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Question:
    """Which sets to find, and which of their properties to report."""

    known: Known
    objective: Objective
    ks: tuple[int, ...]
    constraints: Constraints
    traffic: Traffic = field(default_factory=Traffic)
    assumed: Assumed = field(default_factory=Assumed)
    current: tuple[str, ...] = ()
    with_outlook: bool = True
    time_limit_s: float = 60.0
    # In which all sizes are solved and their certificates checked; what is not checked by then is
    # marked as such. Without a limit, every certificate is checked.
    total_limit_s: float | None = None
    within: float = 0.0
    draws: int = 200
    seed: int = 1
    runners_up: int = 1
    # Whether the best set of the size of the current deployment is solved for as well.
    with_peer: bool = True
    # Whether the Pareto front of cost, value and loss is sought, and the most that a set may cost.
    front: bool = False
    budget: float | None = None
    # Regions, or the price of a month, that all domains share.
    joint_budget: int | None = None
    joint_cost: float | None = None

    @property
    def samples(self) -> Samples:
        return self.known.samples


def read(
    samples: Path,
    files: Mapping[str, Path],
    most_cells: int = MAX_CELLS,
    form: str = "",
    *,
    parquet: bool = False,
) -> Known:
    """Read all files of a question; raises BadInput naming the file, and the line or column.

    Samples may be Parquet where ``parquet`` is true: for the command, which reads its
    user's own files. The decompressed size of pages is not bounded, so that uploads are CSV.
    """
    strange = sorted(set(files) - set(FILES))
    if strange:
        raise BadInput("no such file is taken", field=strange[0])
    prices = _bytes(files, "prices", read_prices)
    brought = _bytes(files, "regions", read_regions) or {}
    weights = _read(files, "weights", read_weights)
    if (form or FORMS[0]) == FORMS[0]:
        found = read_samples(samples, None, most_cells, parquet=parquet)
    else:
        found = _read_matrix(samples, form, brought)
    if found.missing == found.values.size:
        raise BadInput("every value is missing: no region answered any client", field="samples")
    found = found.with_weights(client_weights(found.clients, weights))
    regions = describe_regions(found.regions, brought)
    for name, region in regions.items():
        if prices and region.price is None:
            regions[name] = replace(region, price=prices.running.get(name))
    price_list = _bytes(files, "price_list", read_price_list)
    beside = _read(
        files, "beside", lambda path: read_samples(path, None, most_cells, parquet=parquet)
    )
    clients = _bytes(files, "clients", read_clients) or {}
    if clients and not set(clients) & set(found.clients):
        raise BadInput(
            f"none of them has samples, the first is {next(iter(clients))!r}", field="clients"
        )
    populations = _bytes(files, "populations", read_populations) or {}
    routes = _bytes(files, "isps", read_routes) or {}
    found = replace(found, groups=tuple(_country(clients, name) for name in found.clients))
    domains = _bytes(files, "domains", read_domain_uses) or ()
    group_clients = _bytes(files, "group_clients", read_group_clients) or {}
    return Known(
        *(found, regions, clients, routes, prices, price_list, populations, beside, domains),
        group_clients=group_clients,
        carbon=_bytes(files, "carbon", read_carbon) or {},
    )


def _country(clients: Mapping[str, Client], name: str) -> str:
    return clients[name].country if name in clients else ""


def ask(known: Known, options: Mapping[str, Any]) -> Question:
    """Give the question that options ask of what is known; raises BadInput naming the field."""
    numbers = {name: _number(options, name) for name in _BOUNDS}
    usual = Assumed()
    given = {part: numbers[f"{part}_availability"] for part in ("region", "zone", "provider")}
    effort = {
        name: numbers[name]
        for name in (
            *("time_limit_s", "within", "draws", "seed", "budget"),
            *("joint_budget", "joint_cost"),
        )
    }
    check_joint(known.domains, known.group_clients, numbers)
    if options.get("worst_country"):
        check_worst_country(known.samples, options, numbers)
    if numbers["budget"] is not None and not options.get("front"):
        raise BadInput("a budget is for the front of costs; ask for front too", field="budget")
    return Question(
        known,
        _objective(options),
        sizes(options.get("k"), len(known.samples.regions), _least_size(options)),
        _constraints(known, options),
        Traffic(numbers["traffic_gb"] or 0.0, numbers["between_gb"] or 0.0),
        replace(usual, **{part: v for part, v in given.items() if v is not None}),
        _names(known, options, "current"),
        options.get("outlook") is not False,
        front=bool(options.get("front")),
        **{name: value for name, value in effort.items() if value is not None},
    )


def _least_size(options: Mapping[str, Any]) -> int:
    """Of one region nothing is left after a loss."""
    lost = options.get("survive_loss") or options.get("after_loss_ms") is not None
    return 2 if lost else 1


def sizes(text: str | int | None, n_regions: int, least: int = 1) -> tuple[int, ...]:
    """Read sizes of sets such as 5, 1..8 or 1,3,5; raises BadInput."""
    if text is None or text == "":
        return tuple(range(least, max(min(8, n_regions), least) + 1))
    found: set[int] = set()
    for part in str(text).split(","):
        match = _RANGE.fullmatch(part.strip())
        if not match:
            raise BadInput(f"{part!r} is neither a size such as 5 nor a range 1..8", field="k")
        first = int(match[1])
        found.update(range(first, int(match[2] or first) + 1))
    if not found or not 1 <= min(found) <= max(found) <= n_regions:
        raise BadInput(f"{text} is not from 1 to {n_regions}, the number of regions", field="k")
    if len(found) > MAX_SIZES:
        raise BadInput(f"{len(found)} sizes at once are over {MAX_SIZES}", field="k")
    return tuple(sorted(found))


def _read_matrix(path: Path, form: str, brought: Mapping[str, Region]) -> Samples:
    """Read a published matrix of one form; raises BadInput."""
    if form == "square":
        return read_square(path)
    if form == "city-pairs":
        if not brought:
            raise BadInput("name the destinations that are regions in a table", field="regions")
        return read_city_pairs(path, brought)
    raise BadInput(f"{form!r} is not one of {', '.join(FORMS)}", field="format")


def _objective(options: Mapping[str, Any]) -> Objective:
    measure = _one_of(options, "objective", Measure, Measure.LATENCY)
    missing = _one_of(options, "missing", Missing, Missing.PENALTY)
    percentile = options.get("percentile")
    if percentile is not None and isinstance(percentile, str):
        raise BadInput("a percentile is a number", field="percentile")
    penalty = _number(options, "penalty")
    if penalty is not None and missing is Missing.EXCLUDE:
        raise BadInput("excluded answers have no penalty; give one of the two", field="penalty")
    is_worst = bool(options.get("worst_country"))
    return Objective(measure, percentile, missing, penalty, is_worst)


def _one_of(options: Mapping[str, Any], name: str, kind: Any, usual: Any) -> Any:
    text = options.get(name)
    if text in (None, ""):
        return usual
    if text not in [str(member) for member in kind]:
        known = ", ".join(str(member) for member in kind)
        raise BadInput(f"{text!r} is not one of {known}", field=name)
    return kind(text)


def _number(options: Mapping[str, Any], name: str) -> Any:
    value = options.get(name)
    if value is None:
        return None
    low, high = _BOUNDS[name]
    if not isinstance(value, int | float) or not low <= value <= high:
        raise BadInput(f"{value} is not between {low:g} and {high:g}", field=name)
    if name in _WHOLE and value != int(value):
        raise BadInput(f"{value} is not a whole number", field=name)
    return int(value) if name in _WHOLE else float(value)


def _names(known: Known, options: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Names of regions, each once; raises BadInput where one has no samples."""
    found = tuple(dict.fromkeys(options.get(key) or ()))
    for name in found:
        if name not in known.regions:
            raise BadInput(f"no samples of the region {name!r}", field=key)
    return found


def _constraints(known: Known, options: Mapping[str, Any]) -> Constraints:
    def words(key: str) -> list[str]:
        return list(options.get(key) or ())

    include, exclude = (frozenset(_names(known, options, k)) for k in ("include", "exclude"))
    if both := sorted(include & exclude):
        raise BadInput(f"{both[0]!r} is to be in and out at once", field="include")
    return Constraints(
        include=include,
        exclude=exclude,
        providers=_allowed(known, "provider", [n.lower() for n in words("provider")]),
        per_provider=_number(options, "per_provider"),
        countries=_allowed(known, "country", [n.upper() for n in words("country")]),
        continents=_allowed(known, "continent", [n.lower() for n in words("continent")]),
        presence=tuple(_presence(known, text) for text in words("presence")),
        price_ceiling=_number(options, "price_ceiling"),
        min_zones=_number(options, "min_zones"),
        min_isps=_number(options, "min_isps"),
        max_carbon=_number(options, "max_carbon"),
        survive_loss=bool(options.get("survive_loss")),
        after_loss_ms=_number(options, "after_loss_ms"),
        after_loss_share=_after_loss_share(options),
        facts=_facts(known),
    )


def _facts(known: Known) -> dict[str, Facts]:
    """Attributes of each region; ISPs and carbon only where their tables have it."""
    counts = Counter(
        region for shares in known.routes.values() for region, share in shares.items() if share > 0
    )
    return {
        name: replace(
            region.facts(),
            isps=counts.get(name),
            carbon_g_per_kwh=known.carbon[name].g_per_kwh if name in known.carbon else None,
        )
        for name, region in known.regions.items()
    }


def _after_loss_share(options: Mapping[str, Any]) -> float:
    share = _number(options, "after_loss_share")
    if share is not None and options.get("after_loss_ms") is None:
        raise BadInput("a share after a loss needs a limit in ms", field="after_loss_share")
    return share or 0.0


def _allowed(known: Known, what: str, names: list[str]) -> frozenset[str]:
    """Names of a fact that some region has; raises BadInput, since a slip would allow nothing."""
    there = {getattr(region, what) for region in known.regions.values()} - {""}
    for name in sorted(set(names) - there):
        listed = ", ".join(sorted(there)) or "none is known; bring them with a table of regions"
        raise BadInput(f"no region has the {what} {name!r}: {listed}", field=what)
    return frozenset(names)


def _presence(known: Known, text: str) -> Presence:
    match = _PRESENCE.fullmatch(text.strip())
    within = frozenset(name.strip() for name in match[1].split(",")) - {""} if match else None
    if not match or not within:
        raise BadInput(f"{text!r} is not a list of places such as DE,FR:2", field="presence")
    places = {
        place for r in known.regions.values() for place in (r.country, r.continent, r.provider)
    }
    for name in sorted(within - places - set(known.regions)):
        raise BadInput(f"{name!r} is not a known region, country or provider", field="presence")
    return Presence(within, int(match[2] or 1))


def _read(files: Mapping[str, Path], name: str, reader: Any) -> Any:
    path = files.get(name)
    if path is None:
        return None
    try:
        return reader(path)
    except (EOFError, zlib.error) as error:
        text = f"{path.name}: the packed file is damaged or cut off"
        raise BadInput(text, field=name) from error
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}", field=name) from error


def _bytes(files: Mapping[str, Path], name: str, reader: Any) -> Any:
    return _read(files, name, lambda path: reader(path.read_bytes()))
