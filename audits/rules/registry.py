"""All rules by id."""

from audits.findings import Severity
from audits.rules import change, concentration, exposure, geography, performance, records
from audits.rules.base import Rule

_GROUPS = (geography, concentration, exposure, records, performance, change)

# Decided for each domain before all other rules, see ``audits.evaluation``.
THIN_DATA = Rule(
    "thin-data",
    "The data are too old or too thin to judge",
    Severity.MEDIUM,
    "data",
    "The survey is older than the policy accepts, found no name of the domain, or too many of its "
    "queries failed. Such a domain never counts as passed.",
    "Survey the domain again.",
    lambda facts, context, parameters: (),
)
RULES: dict[str, Rule] = {
    rule.id: rule for rule in (*(r for group in _GROUPS for r in group.RULES), THIN_DATA)
}
