"""Measured values per region, client and round as one array with gaps.

A missing value is NaN; its cost is defined by the objective.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput

Row = tuple[str, str, str, float | None]


@dataclass(frozen=True, eq=False)
class Samples:
    """Values (n_regions, n_clients, n_rounds), NaN where missing, and weights (n_clients,).

    ``groups`` names the group of each client, such as its country, where that is known.
    Raise BadInput if shapes disagree, a name is listed twice, or a value or weight cannot be used.
    """

    regions: tuple[str, ...]
    clients: tuple[str, ...]
    rounds: tuple[str, ...]
    values: NDArray[Any]
    weights: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.weights.size == 0:
            object.__setattr__(self, "weights", np.ones(len(self.clients)))
        shape = (len(self.regions), len(self.clients), len(self.rounds))
        if self.values.shape != shape or 0 in shape:
            raise BadInput(f"values have the shape {self.values.shape}, names say {shape}")
        for kind in ("regions", "clients", "rounds"):
            _check_names(kind, getattr(self, kind))
        if self.groups and len(self.groups) != len(self.clients):
            raise BadInput(f"{len(self.clients)} clients need as many groups", field="groups")
        _check_weights(self.weights, len(self.clients))
        _check_values(self.values, self.regions)

    @property
    def missing(self) -> int:
        """The number of cells without a value."""
        if self.values.dtype.kind != "f":
            return 0
        return int(sum(np.isnan(plane).sum() for plane in self.values))

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """Mask (n_clients, n_rounds) of client-rounds with at least one answer.

        Without any, the client itself was offline, which is no evidence about a region.
        """
        found = np.zeros(self.values.shape[1:], bool)
        for plane in self.values:
            found |= ~np.isnan(plane)
        return found

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The share of each client-round in all weight; 0 where it does not count.

        A client's weight is divided evenly among its counted rounds.
        """
        rounds = np.maximum(self.counted.sum(axis=1, keepdims=True), 1)
        weights = self.weights[:, None] * self.counted / rounds
        total = float(weights.sum())
        return np.asarray(weights / total if total else weights, np.float64)

    def with_weights(self, weights: NDArray[Any]) -> "Samples":
        """Return the same samples with other weights; raise BadInput as the class does."""
        return replace(self, weights=np.asarray(weights, dtype=np.float64))

    def collapsed(self) -> "Samples":
        """Return one round: each client's mean over the rounds in which the region answered."""
        answered = ~np.isnan(self.values)
        count = answered.sum(axis=2)
        total = np.where(answered, self.values, 0.0).sum(axis=2, dtype=np.float64)
        mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return replace(self, rounds=("all",), values=mean[:, :, None])


def samples_of(rows: Iterable[Row], weights: dict[str, float] | None = None) -> Samples:
    """Return samples of rows (round, client, region, value); raise BadInput on a value twice."""
    places: tuple[dict[str, int], ...] = ({}, {}, {})
    cells: dict[tuple[int, int, int], float] = {}
    for line, (period, client, region, value) in enumerate(rows, 2):
        names = (region, client, period)
        key = tuple(p.setdefault(name, len(p)) for p, name in zip(places, names, strict=True))
        if key in cells:
            raise BadInput(f"a second value for {region}, {client}, {period}", line=line)
        cells[key[0], key[1], key[2]] = np.nan if value is None else float(value)
    if not cells:
        raise BadInput("there are no samples")
    values = np.full(tuple(map(len, places)), np.nan)
    for key, value in cells.items():
        values[key] = value
    regions, clients, rounds = (tuple(p) for p in places)
    return Samples(regions, clients, rounds, values, client_weights(clients, weights))


def client_weights(clients: tuple[str, ...], weights: dict[str, float] | None) -> NDArray[Any]:
    """Return a weight per client; raise BadInput where a client has none."""
    if weights is None:
        return np.ones(len(clients))
    lacking = [name for name in clients if name not in weights]
    if lacking:
        raise BadInput(f"{len(lacking)} clients have no weight, the first is {lacking[0]!r}")
    return np.array([weights[name] for name in clients], dtype=np.float64)


def _check_names(kind: str, names: tuple[str, ...]) -> None:
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise BadInput(f"{twice!r} is listed twice among the {kind}", field=kind)


def _check_weights(weights: NDArray[Any], clients: int) -> None:
    if weights.shape != (clients,):
        raise BadInput(f"{clients} clients need as many weights", field="weights")
    if not np.isfinite(weights).all() or weights.min() < 0 or weights.max() <= 0:
        raise BadInput("weights must be numbers from 0 up, one at least above", field="weights")


def _check_values(values: NDArray[Any], regions: tuple[str, ...]) -> None:
    for region, plane in zip(regions, values, strict=True):
        low, high = np.fmin.reduce(plane, axis=None), np.fmax.reduce(plane, axis=None)
        if low < 0 or np.isinf(high):
            raise BadInput(f"values of {region!r} must be finite and not negative", field="values")
