"""The declaration of a probe's report: its statistics, and limits that decide on suitability."""

from dataclasses import dataclass

VALUES = "values"


@dataclass(frozen=True, slots=True)
class Statistic:
    """One reported quantity; ``sql`` gives a number per run, or is ``VALUES``: all of its values.

    Runs for which ``sql`` is NULL are left out.
    """

    name: str
    unit: str
    sql: str = VALUES


@dataclass(frozen=True, slots=True)
class Limit:
    """A pair is suitable for ``use`` when a ``share`` of what was sent keeps ``condition``.

    ``condition`` is SQL on ``value``, a value of ``statistic``. For ``VALUES`` what was sent and
    lost counts as outside, for others a run without a value does. ``rule`` and ``source`` are
    written on pages.
    """

    use: str
    statistic: str
    condition: str
    share: float
    rule: str
    source: str


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What is reported of the runs of ``probes``; ``id`` is that of the table."""

    id: str
    title: str
    probes: tuple[str, ...]
    statistics: tuple[Statistic, ...]
    limits: tuple[Limit, ...] = ()


def detail(key: str) -> str:
    """Return SQL for a number among the further fields of a run's result."""
    document = "CASE WHEN json_valid(detail) THEN detail END"
    return f"TRY_CAST(json_extract_string({document}, '$.{key}') AS DOUBLE)"
