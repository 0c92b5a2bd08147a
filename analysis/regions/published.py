"""Samples go in; the table that restates Figure 16 comes out: the best k, routed in two ways.

Beside each size stand the interval of chance and, for round trips, what was published in 2013.
"""

from dataclasses import dataclass

from analysis.regions.answers import Recommendation
from analysis.regions.objectives import Measure, Objective
from analysis.regions.recommendations import Effort, Study
from analysis.regions.resampling import Doubt, Draws, doubt
from analysis.regions.routing import route
from analysis.regions.samples import Samples

# Figure 16 of IMC'13: mean latency in ms of the best k of EC2's regions, for k from 1 up.
PUBLISHED_MS = (184, 143, 123, 111, 102, 96, 90, 85)
COLUMNS = (
    "k", "regions", "per_round", "low", "high", "static", "share_of_first", "gain_beyond_noise",
    "published", "published_share", "proven",
)  # fmt: skip
MOST_SIZES = 8
TIME_LIMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class SizeRow:
    """One size of set; ``per_round`` is the paper's upper bound, ``static`` keeps one region."""

    k: int
    regions: tuple[str, ...]
    per_round: float
    low: float
    high: float
    static: float | None
    share_of_first: float
    gain_beyond_noise: bool | None
    published: float | None
    published_share: float | None
    proven: bool


def k_regions(
    samples: Samples, objective: Objective | None = None, draws: Draws | None = None
) -> list[SizeRow]:
    """Give the best sets of up to eight regions; raises BadInput on unusable samples."""
    study = Study(samples, objective or Objective())
    sizes = range(1, min(MOST_SIZES, len(samples.regions)) + 1)
    answers = study.curve(sizes, None, Effort(time_limit_s=TIME_LIMIT_S))
    chance = doubt(study, answers, None, draws or Draws())
    first = next((a.value for a in answers if a.value), None)
    return [_row(study, a, first, d) for a, d in zip(answers, chance, strict=False) if a.value]


def _row(study: Study, answer: Recommendation, first: float | None, chance: Doubt) -> SizeRow:
    asked, value = study.objective, answer.value or 0.0
    by_mean = asked.percentile is None
    compared = by_mean and asked.measure is Measure.LATENCY and answer.k <= len(PUBLISHED_MS)
    was = float(PUBLISHED_MS[answer.k - 1]) if compared else None
    return SizeRow(
        k=answer.k,
        regions=answer.regions,
        per_round=value,
        low=chance.low,
        high=chance.high,
        static=route(study, answer.regions).static if by_mean else None,
        share_of_first=value / first if first else 1.0,
        gain_beyond_noise=chance.beyond_noise,
        published=was,
        published_share=None if was is None else was / PUBLISHED_MS[0],
        proven=answer.proven,
    )
