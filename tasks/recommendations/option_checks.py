"""Check options of a recommendation that depend on each other or on what its files hold."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.impact.domain_regret import DomainUse
from analysis.optimization import Samples
from core.errors import BadInput

# Groups of domains with clients of their own, each of which is solved for.
MAX_AUDIENCES = 100


def check_joint(
    domains: Sequence[DomainUse], group_clients: Mapping[str, Any], numbers: Mapping[str, Any]
) -> None:
    """Raise BadInput where a joint budget cannot be divided among the groups of domains."""
    asked = [name for name in ("joint_budget", "joint_cost") if numbers[name] is not None]
    if len(asked) > 1:
        raise BadInput("a joint budget is of regions or of money, not both", field="joint_cost")
    if asked and not domains:
        raise BadInput("a joint budget is for a table of domains; add one", field="domains")
    if len(group_clients) > MAX_AUDIENCES:
        count = f"{len(group_clients):,} groups with clients of their own"
        raise BadInput(f"{count}; at most {MAX_AUDIENCES} are solved", field="group_clients")
    groups = {use.group or use.domain for use in domains}
    if numbers["joint_budget"] is not None and numbers["joint_budget"] < len(groups):
        text = f"{len(groups):,} deployments need {len(groups):,} regions at least"
        raise BadInput(text, field="joint_budget")
    if strange := sorted(set(group_clients) - groups):
        raise BadInput(f"no domain is in the group {strange[0]!r}", field="group_clients")


def check_worst_country(
    samples: Samples, options: Mapping[str, Any], numbers: Mapping[str, Any]
) -> None:
    """Raise BadInput where countries are unknown, or another option is of means over all."""
    lacking = [
        name
        for name, country, weight in zip(
            samples.clients, samples.groups, samples.weights, strict=True
        )
        if weight > 0 and not country
    ]
    if lacking:
        text = f"the country of {len(lacking):,} clients is unknown, the first is {lacking[0]!r}"
        raise BadInput(f"{text}; give a table of clients", field="worst_country")
    for name, is_asked in (("front", options.get("front")), *numbers.items()):
        if name in ("front", "joint_budget", "joint_cost") and is_asked not in (None, False):
            text = "it is for means over all clients, not for the worst country"
            raise BadInput(text, field=name)
