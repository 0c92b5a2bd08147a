"""Add to the facts of each domain what single outages take down (``docs/methods/outages.md``)."""

from collections.abc import Iterable
from pathlib import Path

from analysis.index.outage_impact import affected_domains
from audits.facts.domains import SurveyFacts
from audits.facts.records import Exposure


def add_exposures(
    facts: SurveyFacts, root: Path, shards: Iterable[str] | None = None, memory_mb: int = 1024
) -> None:
    """Add the outages that hit each domain; raises ``Damaged``."""
    found = facts.by_domain
    table = affected_domains(root, facts.survey, shards, memory_mb)
    columns = ("domain", "kind", "provider", "target", "down", "part", "names", "silent")
    for domain, kind, provider, *values in zip(
        *(table.column(name).to_pylist() for name in columns), strict=True
    ):
        if (one := found.get(domain)) is not None:
            one.exposures.append(Exposure(kind, provider or "", *values))
