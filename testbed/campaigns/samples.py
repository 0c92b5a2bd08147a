"""Synthetic latency and throughput samples of a campaign, generated from a seed in parts.

Distances, time zones and shapes of distributions are those of the real world; values are not
measurements, and every campaign that holds them is labelled.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lake.campaigns import fill_table
from testbed.campaigns.cities import CITIES, REGIONS, City, Region

LABEL = "Synthetic"
DESCRIPTION = (
    "80 stand-in cities and eight regions; values are made up by a model, nothing was measured"
)
SEED = 20130327
# Three days from this moment; a round each half hour, where the paper had one each quarter.
START_S = 1_364_342_400
ROUNDS, ROUND_S, PINGS = 144, 1800, 5
_MS_PER_KM = 2 / 200  # there and back, at the speed of light in fibre
_TEXT = pa.dictionary(pa.int32(), pa.string())
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CampaignModel:
    """What is fixed for all rounds: one row per vantage point, one column per target (a zone)."""

    targets: tuple[tuple[Region, str], ...]
    base_ms: Floats
    rate: Floats
    swing: Floats  # how much an evening slows a vantage point
    loss: Floats


def build_model(seed: int = SEED) -> CampaignModel:
    """Build the part that is fixed for all rounds, a function of the seed."""
    chance = np.random.default_rng(seed)
    targets = tuple((region, zone) for region in REGIONS for zone in region.zones)
    region_of = [REGIONS.index(region) for region, _ in targets]
    apart = np.array([[_kilometres(c, r) for r in REGIONS] for c in CITIES])
    stretch = 1.25 + chance.gamma(2.2, 0.22, apart.shape)
    # Few cables lead to Ireland, so paths there exceed the great-circle distance by more.
    stretch[:, [r.name for r in REGIONS].index("eu-west-1")] *= 1.3
    access = chance.gamma(2.0, 3.0, (len(CITIES), 1)) + 1.5
    base = (apart * stretch * _MS_PER_KM + access + 0.6)[:, region_of]
    # Zones of a region differ by little: they are separate buildings in one metropolitan area.
    base = base + chance.normal(0.0, 0.35, (1, len(targets)))
    window = np.array([r.rate_kb_s for r in REGIONS])[region_of] * 1000
    line = chance.lognormal(15.0, 0.6, (len(CITIES), 1))
    rate = 1 / (1 / line + (25 + base) / 110 / window)
    swing = chance.gamma(1.5, 0.035, (len(CITIES), 1))
    loss = np.minimum(0.2, chance.lognormal(-5.9, 1.0, base.shape))
    return CampaignModel(targets, base, rate, swing, loss)


def _kilometres(city: City, region: Region) -> float:
    a, b, c, d = np.radians([city.lat, city.lon, region.lat, region.lon])
    half = np.sin((c - a) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((d - b) / 2) ** 2
    return float(12_742 * np.arcsin(np.sqrt(half)))


def build_samples(
    world: CampaignModel, rounds: int = ROUNDS, seed: int = SEED
) -> Iterator[pa.Table]:
    """Yield one table of samples per vantage point: latency of all rounds, then throughput."""
    for number, city in enumerate(CITIES):
        chance = np.random.default_rng([seed, number])
        busy = _evening_load(city, rounds)
        dead = _draw_outages(chance, rounds)
        yield pa.concat_tables(
            [
                _latency(world, number, busy, dead, chance),
                _throughput(world, number, busy, dead, chance),
            ]
        )


def _evening_load(city: City, rounds: int) -> Floats:
    """Return the load of each round by local time; it peaks at nine in the evening."""
    hour = (START_S / 3600 + np.arange(rounds) * ROUND_S / 3600 + city.lon / 15) % 24
    return np.asarray(np.exp(-(((hour - 21 + 12) % 24 - 12) ** 2) / 14.0))


def _draw_outages(chance: np.random.Generator, rounds: int) -> NDArray[np.bool_]:
    """Draw the rounds in which the vantage point was offline; one in eight has a long outage."""
    away = chance.random(rounds) < 0.002
    if chance.random() < 0.125:
        begin = int(chance.integers(0, rounds))
        away[begin : begin + int(chance.integers(4, max(5, rounds // 4)))] = True
    return np.asarray(away)


def _route_changes(chance: np.random.Generator, rounds: int, targets: int) -> Floats:
    """Draw the delay in ms that route changes add for some hours, by round and target."""
    added = np.zeros((rounds, targets))
    for _ in range(int(chance.poisson(5.0))):
        begin, length = int(chance.integers(0, rounds)), int(chance.integers(3, 40))
        first = int(chance.integers(0, targets))
        # Neighbouring zones mostly share their route.
        added[begin : begin + length, first : first + 3] += chance.gamma(2.0, 14.0)
    return added


def _latency(
    world: CampaignModel,
    number: int,
    busy: Floats,
    dead: NDArray[np.bool_],
    chance: np.random.Generator,
) -> pa.Table:
    rounds, targets = len(busy), len(world.targets)
    mean = world.base_ms[number] * (1 + world.swing[number] * busy[:, None])
    mean = mean + _route_changes(chance, rounds, targets)
    values = mean[:, :, None] + chance.gamma(
        0.7, 1.0 + mean[:, :, None] / 90, (rounds, targets, PINGS)
    )
    slow = chance.random(values.shape) < 0.004
    values = np.where(slow, values + chance.gamma(2.0, 60.0, values.shape), values)
    lost = chance.random(values.shape) < world.loss[number][None, :, None] * (
        1 + 4 * busy[:, None, None]
    )
    lost |= dead[:, None, None]
    counts = (~lost).sum(axis=2)
    offsets = np.concatenate([[0], np.cumsum(counts.ravel())])
    heard = values[~lost].astype(np.float32)
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(heard))
    status = np.where(counts.ravel() > 0, 0, 1)
    status = np.where(np.repeat(dead, targets), 2, status)
    return _table(world, number, "tcp-ping", PINGS, lists, status)


def _throughput(
    world: CampaignModel,
    number: int,
    busy: Floats,
    dead: NDArray[np.bool_],
    chance: np.random.Generator,
) -> pa.Table:
    rounds, targets = len(busy), len(world.targets)
    rate = world.rate[number] * (1 - 0.9 * world.swing[number] * busy[:, None])
    rate = rate * chance.lognormal(-0.02, 0.2, (rounds, targets))
    # Ten seconds for two megabytes: slower transfers time out.
    failed = (rate < 200_000) | (chance.random(rate.shape) < 0.004)
    reset = chance.random(rate.shape) < 0.3
    status = np.where(failed, np.where(reset, 3, 1), 0)
    status = np.where(dead[:, None], 2, status).ravel()
    offsets = np.concatenate([[0], np.cumsum(status == 0)])
    heard = rate.ravel()[status == 0].astype(np.float32)
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(heard))
    return _table(world, number, "throughput", 1, lists, status)


_STATUSES = ("OK", "TIMEOUT", "NETWORK", "RESET")
_REASONS = ("", "", "the vantage point was away", "the connection was reset")


def _table(
    world: CampaignModel,
    number: int,
    probe: str,
    sent: int,
    values: pa.Array,
    status: NDArray[np.int64],
) -> pa.Table:
    targets = len(world.targets)
    rounds = len(status) // targets
    regions = [region.name for region, _ in world.targets]
    zones = [f"{region.name}{zone}" for region, zone in world.targets]
    numbers = np.repeat(np.arange(rounds, dtype=np.int32), targets)
    every = np.tile(np.arange(targets, dtype=np.int32), rounds)
    spread = every.astype(np.int64) * (ROUND_S // 2 // targets)
    at = (START_S + numbers.astype(np.int64) * ROUND_S + spread) * 1_000_000
    rows = pa.table(
        {"round": numbers, "values": values, "at": pa.array(at).cast(pa.timestamp("us", tz="UTC"))}
    )
    same = {"vantage": CITIES[number].name, "probe": probe, "provider": "aws"}
    extra = {name: pa.repeat(pa.scalar(text), len(rows)) for name, text in same.items()}
    return fill_table(
        "samples",
        rows,
        {
            **extra,
            "sent": pa.repeat(pa.scalar(sent, pa.int32()), len(rows)),
            "region": _coded(every, regions),
            "zone": _coded(every, zones),
            "target": _coded(every, [f"{zone}.{LABEL.lower()}.invalid" for zone in zones]),
            "status": _coded(status, _STATUSES),
            "reason": pa.array(_REASONS).take(pa.array(status)),
        },
    )


def _coded(codes: NDArray[np.integer], names: tuple[str, ...] | list[str]) -> pa.Array:
    found = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names))
    return found.cast(_TEXT)
