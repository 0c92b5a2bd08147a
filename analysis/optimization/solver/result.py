"""The result of a recommendation: regions, value, lower bound and proof."""

from dataclasses import dataclass

from analysis.optimization.solver.certificate import GroupProof, Proof


@dataclass(frozen=True)
class Set:
    """Regions and the value that they give."""

    regions: tuple[str, ...]
    value: float


@dataclass(frozen=True)
class Recommendation:
    """The best k regions.

    ``bound`` bounds the value of every feasible set. The first ``runners_up_proven`` of
    ``runners_up`` are proven next best; further ones are the best found. ``unanswered`` counts
    client-rounds that no chosen region answered though another did, ``missing`` empty cells of the
    samples; ``rounding`` is by how much whole numbers may move a mean. ``reason`` is why there is
    no set. ``checked`` is true if the verification accepted the proof; a search never sets it.
    """

    k: int
    regions: tuple[str, ...]
    value: float | None
    bound: float | None
    proven: bool
    runners_up: tuple[Set, ...] = ()
    runners_up_proven: int = 0
    unanswered: int = 0
    unanswered_share: float = 0.0
    missing: int = 0
    rounding: float = 0.0
    seconds: float = 0.0
    nodes: int = 0
    proof: Proof | GroupProof | None = None
    checked: bool = False
    reason: str = ""

    @property
    def gap(self) -> float:
        """How far the value may be from the best, as a share of the value; 0 where proven."""
        if self.proven or self.value is None or self.bound is None:
            return 0.0
        return abs(self.value - self.bound) / abs(self.value) if self.value else 0.0

    @property
    def runner_up(self) -> Set | None:
        """The next best set, if any was met."""
        return self.runners_up[0] if self.runners_up else None
