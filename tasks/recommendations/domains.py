"""The domains of a question: each one's regret and best change, as a document."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from analysis.impact.domain_regret import BestSet, DomainUse, find_regrets, summarise
from analysis.optimization import Recommendation, Study
from analysis.optimization.model.constraints import limit
from tasks.recommendations.request import Question

# Domains that a document lists, the largest regrets first; all of them are counted.
MOST_LISTED = 500
# A domain in more regions than this is beside no proven set, since each size takes a search.
MOST_REGIONS = 8


def domain_sizes(question: Question) -> set[int]:
    """Return the numbers of regions that domains of the question use and that samples have."""
    if not question.with_peer or _is_robust(question):
        return set()
    sizes = {len(use.regions) for use in _known_uses(question)[0]}
    return {size for size in sizes if size <= MOST_REGIONS}


def describe_domains(
    study: Study, question: Question, answers: Mapping[int, Recommendation]
) -> dict[str, Any] | None:
    """Return the domains by regret; None without domains, or where a loss is to be survived.

    They are left out where only one size is requested at once, as sliders do.
    """
    if not question.known.domains or not question.with_peer or _is_robust(question):
        return None
    uses, unknown = _known_uses(question)
    best = {
        k: BestSet(found.regions, found.value)
        for k, found in answers.items()
        if found.value is not None
    }
    found = find_regrets(study, uses, best, _candidates(question))
    return {
        "n": len(question.known.domains),
        "without_samples": unknown,
        "compared": len(found),
        **summarise(found),
        "proven": all(answers[len(one.regions)].proven for one in found),
        "rows": [asdict(one) for one in found[:MOST_LISTED]],
    }


def _known_uses(question: Question) -> tuple[list[DomainUse], int]:
    """Return uses by the regions that have samples, and how many domains have none of them."""
    known = set(question.samples.regions)
    kept = [
        replace(use, regions=tuple(r for r in use.regions if r in known))
        for use in question.known.domains
    ]
    return [use for use in kept if use.regions], sum(not use.regions for use in kept)


def _candidates(question: Question) -> list[str]:
    """Return the regions that the constraints allow one by one."""
    regions = question.samples.regions
    outside = set(limit(regions, question.constraints).outside)
    return [name for j, name in enumerate(regions) if j not in outside]


def _is_robust(question: Question) -> bool:
    asked = question.constraints
    return asked.survive_loss or asked.after_loss_ms is not None
