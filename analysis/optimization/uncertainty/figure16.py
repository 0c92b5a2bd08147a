"""IMC'13 Figure 16 from samples: the best k regions under per-round and static routing.

Each size has its bootstrap interval and, for latency, the published value of 2013. Means are of the
samples themselves, not of the integer costs, so that k = 1 equals the table of regions.
"""

from dataclasses import dataclass, replace

from analysis.optimization.model.objectives import Measure, Objective
from analysis.optimization.model.samples import Samples
from analysis.optimization.recommendations import Effort, Study
from analysis.optimization.single_regions import DECIMALS
from analysis.optimization.solver.result import Recommendation
from analysis.optimization.uncertainty.bootstrap import Draws, Uncertainty, doubt
from analysis.optimization.uncertainty.regret import route
from analysis.optimization.verification.verification import measure

# Figure 16 of IMC'13: mean latency in ms of the best k of EC2's regions, for k from 1 up.
PUBLISHED_MS = (184, 143, 123, 111, 102, 96, 90, 85)
COLUMNS = (
    "k",
    "regions",
    "per_round",
    "low",
    "high",
    "static",
    "share_of_first",
    "gain_beyond_noise",
    "published",
    "published_share",
    "proven",
    "answered_share",
    "left_out",
)
MAX_SIZES = 8
TIME_LIMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class SizeRow:
    """One size of set; ``per_round`` is the paper's upper bound, ``static`` keeps one region.

    ``answered_share`` is the share of counted client-rounds that the set answered, the others being
    in the means at the penalty; ``left_out`` counts those that no region answered.
    """

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
    answered_share: float
    left_out: int


def k_regions(
    samples: Samples, objective: Objective | None = None, draws: Draws | None = None
) -> list[SizeRow]:
    """Return the best sets of up to eight regions; raise BadInput on unusable samples."""
    study = Study(samples, objective or Objective())
    sizes = range(1, min(MAX_SIZES, len(samples.regions)) + 1)
    answers = study.curve(sizes, None, Effort(time_limit_s=TIME_LIMIT_S))
    chance = doubt(study, answers, None, draws or Draws())
    rows = [_row(study, a, d) for a, d in zip(answers, chance, strict=False) if a.value]
    first = rows[0].per_round if rows else 0.0
    return [replace(row, share_of_first=row.per_round / first if first else 1.0) for row in rows]


def _row(study: Study, answer: Recommendation, chance: Uncertainty) -> SizeRow:
    asked = study.objective
    value = round(measure(study.samples, answer.regions, asked) or 0.0, DECIMALS)
    by_mean = asked.percentile is None
    compared = by_mean and asked.measure is Measure.LATENCY and answer.k <= len(PUBLISHED_MS)
    was = float(PUBLISHED_MS[answer.k - 1]) if compared else None
    return SizeRow(
        k=answer.k,
        regions=answer.regions,
        per_round=value,
        low=chance.low,
        high=chance.high,
        static=round(route(study, answer.regions).static, DECIMALS) if by_mean else None,
        share_of_first=1.0,
        gain_beyond_noise=chance.beyond_noise,
        published=was,
        published_share=None if was is None else was / PUBLISHED_MS[0],
        proven=answer.proven,
        answered_share=1 - answer.unanswered_share,
        left_out=study.costs.left_out,
    )
