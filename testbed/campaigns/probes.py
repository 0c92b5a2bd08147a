"""Synthetic runs of application probes: HTTP requests, streams like calls, game queries."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from testbed.campaigns.cities import CITIES
from testbed.campaigns.samples import LABEL, ROUND_S, ROUNDS, SEED, START_S, CampaignModel

# Every seventh city measures, so that all continents are seen; a run each so many rounds.
EACH_CITY, EACH_ROUND = 7, 6
_VALUES = {"http": 1, "jitter": 50, "game-query": 60}


def build_probes(world: CampaignModel, rounds: int = ROUNDS) -> Iterator[tuple[str, list[Any]]]:
    """Yield the name of a vantage point and its rows of samples, to a zone of each region."""
    regions = {region.name: at for at, (region, _) in reversed([*enumerate(world.targets)])}
    for number in range(0, len(CITIES), EACH_CITY):
        chance = np.random.default_rng([SEED, number, 1])
        rows = [
            _row(world, (number, at), round_, probe, chance)
            for round_ in range(0, rounds, EACH_ROUND)
            for at in regions.values()
            for probe in _VALUES
        ]
        yield CITIES[number].name, rows


def _row(
    world: CampaignModel,
    pair: tuple[int, int],
    round_: int,
    probe: str,
    chance: np.random.Generator,
) -> dict[str, Any]:
    region, zone = world.targets[pair[1]]
    base_ms = float(world.base_ms[pair])
    jitter_ms = float(chance.gamma(1.5, 1.0 + base_ms / 150))
    sent = _VALUES[probe]
    rtt_ms = base_ms + chance.gamma(0.7, 1.0 + jitter_ms, sent)
    values, fields = rtt_ms[chance.random(sent) >= world.loss[pair]], {}
    if probe == "jitter":
        fields = {"jitter_ms": jitter_ms}
    elif probe == "http":
        steps_ms = {
            "dns_ms": 2.0 + chance.gamma(1.2, 4.0),
            "connect_ms": base_ms,
            "tls_ms": base_ms * 1.05,
            "wait_ms": base_ms + chance.gamma(2.0, 12.0),
            "read_ms": chance.gamma(1.5, 6.0),
        }
        fields = {name: round(value, 2) for name, value in steps_ms.items()}
        values = np.array([sum(fields.values())])
    return {
        "round": round_,
        "vantage": CITIES[pair[0]].name,
        "target": f"{region.name}{zone}.{LABEL.lower()}.invalid",
        "provider": "aws",
        "region": region.name,
        "zone": f"{region.name}{zone}",
        "at": (START_S + round_ * ROUND_S) * 1_000_000,
        "probe": probe,
        "status": "OK" if len(values) else "TIMEOUT",
        "sent": sent,
        "values": [round(float(value), 3) for value in values],
        "detail": json.dumps(fields),
    }
