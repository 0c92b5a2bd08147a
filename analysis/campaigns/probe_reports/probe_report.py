"""The declaration of a probe's report: statistics, shares, and limits of suitability."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

VALUES = "values"


@dataclass(frozen=True, slots=True)
class Statistic:
    """One reported quantity; ``sql`` gives a number per run, or is ``VALUES``: all of its values.

    Runs for which ``sql`` is NULL are left out.
    """

    name: str
    unit: str
    sql: str = VALUES
    higher_is_better: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """A share of trials, in the table from 0 to 1 with Wilson's 95 % interval.

    ``hits`` and ``trials`` are SQL for numbers of each run; runs with NULL trials are left out.
    """

    name: str
    hits: str
    trials: str
    higher_is_better: bool = False
    title: str = ""


# What was sent and gave no value.
LOST = Share("lost", "sent - coalesce(len(values), 0)", "sent", title="share lost")


@dataclass(frozen=True, slots=True)
class Limit:
    """A pair is suitable for ``use`` when a ``share`` of what was sent keeps the bound.

    Values of ``statistic`` are at most ``bound``, or at least with ``is_least``. For ``VALUES``
    what was sent and lost counts as outside, for others a run without a value does. ``rule`` and
    ``source`` are written on pages.
    """

    use: str
    statistic: str
    bound: float
    share: float
    rule: str
    source: str
    is_least: bool = False

    @property
    def condition(self) -> str:
        """SQL on ``value``."""
        return f"value {'>=' if self.is_least else '<='} {self.bound!r}"


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What is reported of the runs of ``probes``; ``id`` is that of the table.

    A name in ``probes`` that ends with ``*`` is a prefix.

    ``leading`` names the statistic of the page's headline; it is the first if not given. A report
    with ``max_runs`` is left out of larger campaigns, where other tables have its statistics, and
    one with ``columns`` where the runs have no such columns. ``needs`` explains a report without
    any row.
    """

    id: str
    title: str
    probes: tuple[str, ...]
    statistics: tuple[Statistic, ...]
    limits: tuple[Limit, ...] = ()
    shares: tuple[Share, ...] = (LOST,)
    leading: str = ""
    max_runs: int = 0
    columns: tuple[str, ...] = ()
    needs: str = (
        "It needs a run that was answered: the failures page has the reasons that are known."
    )

    def has_probe(self, name: str) -> bool:
        """Whether the report is of runs of this probe."""
        return any(fnmatchcase(name, pattern) for pattern in self.probes)

    @property
    def parts(self) -> tuple[Statistic | Share, ...]:
        """All statistics and shares, in the order of the table."""
        return (*self.statistics, *self.shares)


def detail(key: str) -> str:
    """Return SQL for a number among the further fields of a run's result."""
    document = "CASE WHEN json_valid(detail) THEN detail END"
    return f"TRY_CAST(json_extract_string({document}, '$.{key}') AS DOUBLE)"
