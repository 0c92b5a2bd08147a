"""Modelled round-trip times between clients and regions, without measurements.

Modelled values are labelled as such wherever shown, and never mixed with measured values.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from analysis.impact.assignment import Floats
from analysis.impact.latency_models.distance_model import Model
from analysis.impact.places import Client, Region
from analysis.optimization import Samples
from core.errors import BadInput

# From means between 6,045 pairs of countries (RIPE Atlas, April 2025): 42 ms of access at both ends
# and 1.8 times the light time of the great circle in fibre; one end is a region here, so half of
# the access. ``error``, ``low`` and ``high`` are those of that fit.
STATED = Model(
    access_ms=21.0, stretch=1.8, clients=164, pairs=6045, error=0.23, low=0.65, high=1.73
)


class LatencyModel(Protocol):
    """Whatever gives a round trip for a client and a region of known places."""

    def predict(self, clients: Sequence[Client], regions: Sequence[Region]) -> Floats:
        """Return modelled round trips in ms, clients by regions."""


def modelled_samples(
    clients: Mapping[str, Client], regions: Mapping[str, Region], model: LatencyModel = STATED
) -> Samples:
    """Return one round of modelled round trips; raise BadInput where a place is not known."""
    lost = [name for name, client in clients.items() if client.at is None]
    lost += [name for name, region in regions.items() if region.at is None]
    if lost or not clients or not regions:
        raise BadInput(f"the place of {lost[0]!r} is not known" if lost else "there are no clients")
    modelled = model.predict(list(clients.values()), list(regions.values()))
    values = np.round(modelled, 1).T[:, :, None]
    weights = np.array([client.weight for client in clients.values()])
    return Samples(tuple(regions), tuple(clients), ("modelled",), values, weights)
