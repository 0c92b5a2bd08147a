"""Assign vantage points to targets by slot: each pair once, never two vantage points at a target.

A Latin rectangle: in slot s, vantage point i measures target (i + s) mod n. With more vantage
points than targets, some places are empty, and their vantage points rest.
"""

import random
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Rotation:
    """The circle of one group; at each target are ``clients`` vantage points at most.

    ``seed`` decides the order of both, so that no pair follows the same pair in every round.
    """

    vantages: int
    targets: int
    clients: int = 1
    seed: str = ""

    @property
    def slots(self) -> int:
        """As many as a colouring of all pairs needs, and no more."""
        return slots_needed(self.vantages, self.targets, self.clients)

    def target(self, vantage: int, slot: int) -> int | None:
        """Where a vantage point is in a slot; ``None`` when it rests."""
        places, seats = _orders(self)
        return places[(seats[vantage] // self.clients + slot) % len(places)]

    def visits(self, vantage: int) -> list[tuple[int, int]]:
        """(slot, target) of a vantage point, in the order of time."""
        places, seats = _orders(self)
        first = seats[vantage] // self.clients
        circle = [*places[first:], *places[:first]]
        return [(slot, target) for slot, target in enumerate(circle) if target is not None]


def slots_needed(vantages: int, targets: int, clients: int) -> int:
    """The least number of slots in which all pairs meet once."""
    return max(targets, -(-vantages // clients))


@lru_cache(maxsize=64)
def _orders(rotation: Rotation) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
    """Targets by their place in the circle, and seats of the vantage points."""
    chance = random.Random(f"{rotation.seed}/{rotation.vantages}/{rotation.targets}")
    slots = rotation.slots
    places: list[int | None] = [*range(rotation.targets), *[None] * (slots - rotation.targets)]
    chance.shuffle(places)
    seats = list(range(rotation.vantages))
    chance.shuffle(seats)
    return tuple(places), tuple(seats)
