"""The objective: measure, percentile, and the treatment of missing answers."""

from dataclasses import dataclass
from enum import StrEnum

from core.errors import BadInput


class Measure(StrEnum):
    """Latency is minimised, throughput maximised."""

    LATENCY = "latency"
    THROUGHPUT = "throughput"


class Missing(StrEnum):
    """What a client-round costs in which no chosen region answered."""

    PENALTY = "penalty"
    EXCLUDE = "exclude"


@dataclass(frozen=True)
class Objective:
    """Mean over clients and rounds of the best chosen region's value, or a percentile of it.

    With ``worst_group``, the mean of the group of clients with the worst mean.
    ``percentile`` 95 is the value that 95 % of weighted client-rounds get or better.
    ``penalty`` is no better than any value measured; without one it is the worst measured value
    for latency and 0 for throughput. Raise BadInput on a percentile outside 0 to 100.
    """

    measure: Measure = Measure.LATENCY
    percentile: float | None = None
    missing: Missing = Missing.PENALTY
    penalty: float | None = None
    worst_group: bool = False

    def __post_init__(self) -> None:
        if self.percentile is not None and not 0 < self.percentile < 100:
            raise BadInput("a percentile lies between 0 and 100", field="percentile")
        if self.worst_group and self.percentile is not None:
            raise BadInput(
                "the worst country is of means; ask for it without a percentile",
                field="worst_country",
            )
        if self.worst_group and self.missing is Missing.EXCLUDE:
            raise BadInput(
                "give missing answers a penalty for the worst country", field="worst_country"
            )
