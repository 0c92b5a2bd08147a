"""Round trips of a measured campaign as pairs of places, for the model of paths."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from analysis.impact.latency_models.pair_files import place_client
from analysis.impact.latency_models.pair_matrices import Pairs
from analysis.impact.places import Client, Point, Region, describe_regions
from core.errors import BadInput
from webapp.store.campaigns import selectors
from webapp.store.models import Campaign

_ROUNDS = "latency-rounds"


def campaign_pairs(campaign: Campaign, places: Mapping[str, Point]) -> Pairs:
    """Return the median round trip of each vantage point and region of a measured campaign.

    ``places`` names vantage points and regions that neither the store nor the list knows.
    """
    if campaign.synthetic:
        raise BadInput(f"{campaign.slug} is synthetic; its round-trip times are not measured")
    if not selectors.has_table(campaign, _ROUNDS):
        raise BadInput(f"{campaign.slug} has no round-trip times yet")
    table = selectors.read_table(campaign, _ROUNDS, ["vantage", "region", "mean"])
    values: dict[tuple[str, str], list[float]] = {}
    columns = (table[name].to_pylist() for name in ("vantage", "region", "mean"))
    for vantage, region, mean in zip(*columns, strict=True):
        if mean is not None:
            values.setdefault((vantage, region), []).append(mean)
    vantages, regions = (sorted({pair[end] for pair in values}) for end in (0, 1))
    points = selectors.vantage_points(vantages)
    facts = describe_regions(regions, {name: Region(at=at) for name, at in places.items()})
    rtt_ms = np.array(
        [[np.median(values.get((v, r), [np.nan])) for r in regions] for v in vantages]
    ).reshape(len(vantages), len(regions))
    sources = tuple(_client(points.get(name), places.get(name)) for name in vantages)
    return Pairs(sources, tuple(facts[name] for name in regions), rtt_ms)


def _client(point: Any, given: Point | None) -> Client:
    if given is None and point is not None and None not in (point.lat, point.lon):
        given = point.lat, point.lon
    return Client() if given is None else place_client(given)
