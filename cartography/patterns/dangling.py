"""Aliases that lead to a provider's name which does not exist: answers in, findings out."""

from collections.abc import Sequence

from cartography.patterns.fronts import Alias, aliases_of, own_matcher
from cartography.patterns.rules import Rule
from core.records import Answer, Front
from core.statuses import DnsStatus

DANGLING = "dangling"
CLAIMABLE = "dangling-claimable"


def find_dangling(answers: Sequence[Answer]) -> tuple[Front, ...]:
    """Findings of one name: a label, the rule of the missing target, and the answer as evidence.

    Only NXDOMAIN counts, since a name without addresses of one type still exists. The label is
    ``dangling-claimable`` where anyone can have the missing name from its provider.
    """
    gone = [a for a in answers if a.status == DnsStatus.NXDOMAIN and _alias_chain(a)]
    if not gone:
        return ()
    matcher = own_matcher()
    fronts: dict[tuple[str, str], Front] = {}
    for answer in gone:
        last = _alias_chain(answer)[-1]
        for rule in _applicable_rules([matcher.rules[n] for n in matcher.match_name(last.target)]):
            label = CLAIMABLE if rule.claimable else DANGLING
            stated = f"{last}: {answer.status} from {answer.resolver or 'the resolver'}"
            front = Front(answer.name, rule.provider, label, rule.id, stated, last.target)
            fronts.setdefault((rule.provider, last.target), front)
    return tuple(fronts.values())


def _applicable_rules(rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules with conditions that the missing name meets by itself."""
    ids = {rule.id for rule in rules}
    return [r for r in rules if ids.issuperset(r.needs) and ids.isdisjoint(r.unless)]


def _alias_chain(answer: Answer) -> Sequence[Alias]:
    return aliases_of([answer])
