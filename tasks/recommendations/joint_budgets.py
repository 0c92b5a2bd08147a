"""One budget of regions or money over all domains of a question, as a document."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from analysis.impact.costs.joint_budgets import Choice, Deployment, Division, divide_budget
from analysis.impact.costs.pareto_fronts import Costing, find_front
from analysis.impact.prices import Prices, Traffic
from analysis.optimization import Measure, Recommendation, Study
from analysis.optimization.model.samples import client_weights
from core.errors import BadInput
from tasks.recommendations.costs import find_prices
from tasks.recommendations.request import Question

# Deployments that a document lists, the heaviest first; all of them are counted.
MOST_LISTED = 500
# Groups with clients of their own, each of which is solved for.
MOST_AUDIENCES = 100
CENTS = 100


@dataclass(frozen=True)
class Group:
    """Domains that share one set of regions."""

    name: str
    domains: tuple[str, ...]
    weight: float


def describe_joint_budget(
    study: Study, question: Question, answers: Mapping[int, Recommendation], solve: Any
) -> dict[str, Any] | None:
    """Return the division of the joint budget; None where none was requested.

    ``solve(study, question, k)`` gives a recommendation for a group with clients of its own.
    """
    if question.joint_budget is None and question.joint_cost is None:
        return None
    groups = find_groups(question)
    faster = study.objective.measure is Measure.LATENCY
    menus: dict[str, tuple[tuple[Choice, ...], bool]] = {}
    deployments = []
    proven = True
    for one in groups:
        audience = one.name if one.name in question.known.group_clients else ""
        if audience not in menus:
            menus[audience] = _choices(study, question, answers, (audience, solve))
        choices, is_proven = menus[audience]
        proven = proven and is_proven
        if not faster:
            choices = tuple(Choice(c.cost, -c.value, c.regions) for c in choices)
        deployments.append(Deployment(one.name, one.weight, choices))
    is_money = question.joint_cost is not None
    budget = round((question.joint_cost or 0) * CENTS) if is_money else question.joint_budget or 0
    found = divide_budget(deployments, budget)
    if found is None:
        least = sum(min(c.cost for c in one.choices) for one in deployments)
        needed = f"{least / CENTS:,.2f}" if is_money else f"{least:,} regions"
        raise BadInput(
            f"{len(deployments):,} deployments need {needed} at least",
            field="joint_cost" if is_money else "joint_budget",
        )
    unit = CENTS if is_money else 1
    uniform = None if is_money else _uniform(deployments, budget)
    sign = 1.0 if faster else -1.0
    rows: list[dict[str, Any]] = [
        {
            "group": group.name,
            "domains": len(group.domains),
            "first_domain": group.domains[0],
            "weight": group.weight,
            "k": len(choice.regions),
            "regions": list(choice.regions),
            "value": sign * choice.value,
            "cost": choice.cost / unit,
        }
        for group, choice in zip(groups, found.choices, strict=True)
    ]
    rows.sort(key=lambda row: (-row["weight"], row["group"]))
    return {
        "is_money": is_money,
        "budget": budget / unit,
        "spent": found.spent / unit,
        "value": sign * found.value,
        "uniform": uniform and {"k": uniform[0], "value": sign * uniform[1].value},
        "proven": proven,
        "n": len(groups),
        "n_domains": sum(len(group.domains) for group in groups),
        "rows": rows[:MOST_LISTED],
    }


def find_groups(question: Question) -> list[Group]:
    """Return the groups of the table of domains; a domain without one is a group by itself."""
    members: dict[str, list[Any]] = {}
    for use in question.known.domains:
        members.setdefault(use.group or use.domain, []).append(use)
    return [
        Group(name, tuple(use.domain for use in uses), sum(use.weight for use in uses))
        for name, uses in members.items()
    ]


def _choices(
    study: Study,
    question: Question,
    answers: Mapping[int, Recommendation],
    audience: tuple[str, Any],
) -> tuple[tuple[Choice, ...], bool]:
    """Return what a group with these clients may choose from, and whether each is proven best."""
    name, solve = audience
    if name:
        weights = client_weights(study.samples.clients, dict(question.known.group_clients[name]))
        samples = study.samples.with_weights(weights)
        study = Study(samples, study.objective)
        known = replace(question.known, samples=samples)
        question = replace(question, known=known)
    if question.joint_cost is not None:
        prices = find_prices(question.known, use_listed=True) or Prices()
        costing = Costing(Prices(running=prices.running), Traffic(), None)
        asked = replace(question.constraints, survive_loss=False)
        front = find_front(study, question.ks, asked, costing)
        found = [Choice(round(one.cost * CENTS), one.value, one.regions) for one in front.sets]
        proven = True
    else:
        solved = [solve(study, question, k) if name else answers[k] for k in question.ks]
        found = [Choice(one.k, one.value, one.regions) for one in solved if one.value is not None]
        proven = all(one.proven for one in solved)
    if not found:
        raise BadInput("no set keeps to the constraints, so that there is nothing to divide")
    return tuple(found), proven


def _uniform(deployments: list[Deployment], budget: int) -> tuple[int, Division] | None:
    """Return the largest number of regions that all deployments can have, and what it gives."""
    sizes = {c.cost for c in deployments[0].choices if c.cost * len(deployments) <= budget}
    for one in deployments:
        sizes &= {c.cost for c in one.choices}
    if not sizes:
        return None
    k = max(sizes)
    alike = [
        replace(one, choices=tuple(c for c in one.choices if c.cost == k)) for one in deployments
    ]
    found = divide_budget(alike, k * len(deployments))
    return None if found is None else (k, found)
