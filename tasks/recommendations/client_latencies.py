"""Build latency samples, measured or modelled, for weighted clients.

Measured ones are those of a campaign that the asker may see. Where nothing was measured a model is
used, and its samples are marked as modelled; the two are never in one matrix.
"""

import csv
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.impact.client_weights import Audience
from analysis.impact.clients.client_keys import merge_smallest
from analysis.impact.clients.client_places import CityPoints, client_places
from analysis.impact.clients.vantage_matching import (
    ClientBasis,
    VantageFacts,
    describe_basis,
    match_clients,
    unmeasured_basis,
)
from analysis.impact.internet_users import open_regions, users
from analysis.impact.latency_models.stated_model import modelled_samples
from analysis.impact.places import Client
from core.errors import BadInput
from tasks.recommendations.latency_model import current_model
from webapp.store.access.visibility import owner_of
from webapp.store.campaigns import selectors
from webapp.store.models import Campaign
from webapp.store.ranges.geolocation import city_points
from webapp.store.recommendations import beacons

MODEL = "model"
AUTO = "auto"
# What is offered to choose from, the newest first.
MOST_OFFERED = 20
_ROUNDS = "latency-rounds"
_BEACON = "beacon:"
# The number of zones of a deployment is unknown: assume two, so that one may fail.
ZONES_IN_USE = 2
# Of a longer list the lightest cities and networks are counted under their country.
MAX_CLIENTS = 2_000
# The heaviest clients that a recommendation lists with the basis of their round trips.
MAX_LISTED = 200


@dataclass(frozen=True, slots=True)
class Offer:
    """A campaign or beacon with usable samples; a beacon measures from countries."""

    key: str
    name: str
    is_synthetic: bool
    n_vantages: int
    label: str = ""
    is_beacon: bool = False


@dataclass(frozen=True, slots=True)
class _Measurements:
    """Samples as rows of round, client, region and ms, where the clients are, and a description."""

    name: str
    rows: Sequence[tuple[Any, str, str, float | None]]
    vantages: Mapping[str, VantageFacts]
    about: Mapping[str, Any]
    # Used where the clients are not given; alike where it is empty.
    weights: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Latencies:
    """Files of a question, and what the samples in them are."""

    files: Mapping[str, bytes]
    source: Mapping[str, Any]
    regions: frozenset[str] = field(default_factory=frozenset)


def offers(user: Any) -> list[Offer]:
    """Measurements that a user may build on: own beacons first, synthetic campaigns last."""
    visitors = [
        Offer(f"{_BEACON}{beacon.key}", beacon.name, False, count, is_beacon=True)
        for beacon in beacons.owned_by(owner_of(user))
        if (count := beacons.n_countries(beacon))
    ]
    found = [
        Offer(m.slug, m.name, m.synthetic, len(m.vantages), m.label)
        for m in selectors.campaigns(user)
        if selectors.has_table(m, _ROUNDS)
    ]
    return visitors + sorted(found, key=lambda offer: offer.is_synthetic)[:MOST_OFFERED]


def latencies_for(
    key: str, audience: Audience, current: Collection[tuple[str, str]], user: Any
) -> Latencies:
    """Samples of a source for these clients; raises BadInput where it has none for them.

    ``auto`` takes the first campaign that measured every region in use and some of the clients'
    countries, else the model; the reason is recorded in the source.
    """
    audience = merge_smallest(audience, MAX_CLIENTS)
    if key not in (AUTO, MODEL):
        return _measured(_measurements(key, user), audience)
    reason = "the model was asked for" if key == MODEL else "no measured campaign is there"
    for offer in offers(user) if key == AUTO else ():
        found, reason = _try(_measurements(offer.key, user), audience, current)
        if found is not None:
            return found
    return _modelled(audience, reason)


def name_in(regions: Collection[str], provider: str, region: str) -> str | None:
    """What samples call a region; ``None`` where they have none of it."""
    names = (f"{provider}/{region}", f"{provider}:{region}", region)
    return next((name for name in names if name in regions), None)


def check_isps_known(key: str, user: Any) -> None:
    """Raise BadInput unless the downstream ISPs of every region of a source are known."""
    found = None if key in (AUTO, MODEL) else selectors.campaign(key, user)
    if found is None or "isps" not in (files := _isps(found)):
        raise BadInput(
            "ISPs of regions are known only from a campaign with traceroutes; choose one as "
            "latency data",
            field="min_isps",
        )
    routed = {row["region"] for row in csv.DictReader(io.StringIO(files["isps"].decode()))}
    regions = set(selectors.read_table(found, _ROUNDS, ["region"])["region"].to_pylist())
    if lacking := sorted(regions - routed):
        text = f"the ISPs of {len(lacking)} regions of {found.name} are unknown: {lacking[0]!r}"
        raise BadInput(text, field="min_isps")


def _measurements(key: str, user: Any) -> _Measurements:
    if key.startswith(_BEACON):
        return _beacon(key.removeprefix(_BEACON), user)
    found = selectors.campaign(key, user)
    if found is None or not selectors.has_table(found, _ROUNDS):
        raise BadInput(f"there are no samples of a campaign {key!r}", field="source")
    return _campaign(found)


def _campaign(campaign: Campaign) -> _Measurements:
    table = selectors.read_table(campaign, _ROUNDS, ["vantage", "region", "round", "mean"])
    names = sorted(set(table["vantage"].to_pylist()))
    vantages = {
        name: VantageFacts(point.country, point.city, point.asn, _at(point))
        for name, point in selectors.vantage_points(names).items()
    }
    columns = (table[name].to_pylist() for name in ("round", "vantage", "region", "mean"))
    about = {
        "name": campaign.name,
        "slug": campaign.slug,
        "synthetic": campaign.synthetic,
        "label": campaign.label,
        "ended_at": campaign.finished_at.isoformat() if campaign.finished_at else None,
    }
    rows = list(zip(*columns, strict=True))
    return _Measurements(campaign.name, rows, vantages, about, files=_isps(campaign))


def _beacon(key: str, user: Any) -> _Measurements:
    """Medians of a beacon: one round, and a client per country."""
    beacon = beacons.find_own(key, owner_of(user))
    found = beacons.medians(beacon) if beacon else []
    if beacon is None or not found:
        raise BadInput(f"there are no samples of a beacon {key!r}", field="source")
    weights: dict[str, float] = {}
    for median in found:
        weights[median.country] = max(weights.get(median.country, 0.0), float(median.n))
    rows = [("beacon", m.country, m.region, m.rtt_ms) for m in found]
    vantages = {country: VantageFacts(country) for country in weights}
    about = {"name": beacon.name, "beacon": beacon.key, "synthetic": False, "label": ""}
    return _Measurements(beacon.name, rows, vantages, about, weights)


def _try(
    measurements: _Measurements, audience: Audience, current: Collection[tuple[str, str]]
) -> tuple[Latencies | None, str]:
    try:
        found = _measured(measurements, audience)
    except BadInput as error:
        return None, str(error)
    lost = [f"{p} {r}" for p, r in current if name_in(found.regions, p, r) is None]
    if not lost:
        return found, ""
    more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    return None, f"{measurements.name} has no samples of {lost[0]}{more}"


def _measured(measurements: _Measurements, audience: Audience) -> Latencies:
    vantages = measurements.vantages
    cities = _cities(audience, vantages)
    matched = match_clients(audience, vantages, cities)
    if audience and not matched.weights:
        raise BadInput(f"{measurements.name} measured from none of these countries", field="source")
    weights = matched.weights if audience else measurements.weights
    kept = set(weights) or {row[1] for row in measurements.rows}
    clients = {n: Client(f.country, "", f.at, 1.0) for n, f in vantages.items() if n in kept}
    files = {
        "samples": write_csv(
            ("round", "client", "region", "value"), (r for r in measurements.rows if r[1] in kept)
        ),
        "clients": _client_rows(clients),
    }
    if weights:
        files["weights"] = write_csv(("client", "weight"), weights.items())
    files |= measurements.files
    if away := matched.away():
        files["populations"] = _populations(client_places(away, cities))
    regions = frozenset(row[2] for row in measurements.rows)
    files["regions"] = _zones(sorted(regions))
    source = {
        "kind": "measured",
        **measurements.about,
        "vantages": len(kept),
        "countries_modelled": sorted({client.partition("/")[0] for client in matched.away()}),
        "basis": describe_basis(matched.clients, MAX_LISTED),
        "zones": ZONES_IN_USE,
    }
    return Latencies(files, source, regions)


def _cities(audience: Audience, vantages: Mapping[str, VantageFacts]) -> CityPoints:
    """Return coordinates of cities: of the address tables, else of vantage points in them."""
    if not any("/" in client for client in audience):
        return {}
    found = {
        (facts.country, facts.city.casefold()): facts.at
        for facts in vantages.values()
        if facts.city and facts.at
    }
    return found | {(code, city.casefold()): at for (code, city), at in city_points().items()}


def _at(point: Any) -> tuple[float, float] | None:
    return None if point.lat is None or point.lon is None else (point.lat, point.lon)


def _isps(campaign: Campaign) -> dict[str, bytes]:
    """Downstream ISPs of the regions, where the campaign has traceroutes."""
    stored = selectors.some_tables(campaign, "isp-shares").get("isp-shares")
    rows = stored.dicts() if stored else []
    shares: dict[tuple[str, str], float] = {}
    for row in rows:
        share, region = row.get("share"), row.get("region")
        if share and region and row.get("isp") is not None:
            name = f"AS{row['isp']} {row.get('name') or ''}".strip()
            shares[region, name] = min(1.0, shares.get((region, name), 0.0) + float(share))
    if not shares:
        return {}
    return {
        "isps": write_csv(("region", "isp", "share"), ((r, n, s) for (r, n), s in shares.items()))
    }


def _modelled(audience: Audience, reason: str) -> Latencies:
    weights = audience or users()
    cities = _cities(audience, {})
    clients, regions = client_places(weights, cities), open_regions()
    if not clients:
        raise BadInput("no place is known in any of these countries", field="audience")
    basis = [ClientBasis(name, w, unmeasured_basis(name, cities)) for name, w in weights.items()]
    fitted = current_model()
    samples = modelled_samples(clients, regions, fitted.model)
    rows = (
        ("modelled", client, region, f"{samples.values[j, i, 0]:.1f}")
        for j, region in enumerate(samples.regions)
        for i, client in enumerate(samples.clients)
    )
    files = {
        "samples": write_csv(("round", "client", "region", "value"), rows),
        "clients": _client_rows(clients),
        "weights": write_csv(("client", "weight"), ((n, c.weight) for n, c in clients.items())),
        "regions": _zones(list(regions)),
    }
    source = {
        "kind": "modelled",
        "name": "Model of paths" if fitted.about["kind"] == "paths" else "Model of distance",
        "model": dict(fitted.about),
        "reason": reason,
        "countries": len({client.partition("/")[0] for client in weights}),
        "basis": describe_basis(basis, MAX_LISTED),
        "zones": ZONES_IN_USE,
        "weights": "given" if audience else "people on the Internet, in round figures",
    }
    return Latencies(files, source, frozenset(regions))


def _zones(regions: Sequence[str]) -> bytes:
    return write_csv(("region", "zones"), ((name, ZONES_IN_USE) for name in regions))


def _client_rows(clients: Mapping[str, Client]) -> bytes:
    rows = ((n, c.country, *(c.at or ("", ""))) for n, c in clients.items())
    return write_csv(("client", "country", "latitude", "longitude"), rows)


def _populations(clients: Mapping[str, Client]) -> bytes:
    rows = ((n, *(c.at or ("", "")), c.country, c.weight) for n, c in clients.items())
    return write_csv(("population", "latitude", "longitude", "country", "weight"), rows)


def write_csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Return a header and rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue().encode()
