"""IPv6 addresses of found names, and wildcards that they reveal.

A name with an address exists for every type. Where its AAAA is denied with NXDOMAIN, either the
server is broken or a wildcard that denies at random produced the name.
"""

from collections import Counter, defaultdict

from core.records import Answer
from core.statuses import DnsStatus, Technique
from crawlers.enumeration.batch import Batch
from crawlers.enumeration.columns import Column
from crawlers.enumeration.domain_state import DomainState
from crawlers.enumeration.wildcard_filter import Key, WildcardFilter

# So many names at one address that go when asked for IPv6, where others stay, are chance.
_MIXED = 2
# Names from zone data, which no wildcard produced.
_CERTAIN = frozenset({Technique.AXFR, Technique.NSEC, Technique.LISTED})


def ask_ipv6(batch: Batch, wildcards: WildcardFilter, states: list[DomainState]) -> None:
    """Ask for the IPv6 addresses of every found name, and suspect names that went."""
    gone: defaultdict[Key, list[str]] = defaultdict(list)
    columns = [Column(x, tuple(x.found)) for x in states]
    for state, answer in batch.ask_columns(columns, "AAAA"):
        if answer.status not in (DnsStatus.NODATA, DnsStatus.NXDOMAIN):
            state.found[answer.name].append(answer)
        elif _is_denied(state, answer):
            gone[state.number, _level_of(answer.name)].append(answer.name)
    doubted = [
        (key, names, _is_mixed(batch.states[key[0]], key, names)) for key, names in gone.items()
    ]
    for number, level in wildcards.doubt(doubted):
        state = batch.states[number]
        state.retract([name for name in state.found if _is_guess(state, name, level)])


def _is_denied(state: DomainState, answer: Answer) -> bool:
    """Whether it is the name itself that is denied, not the end of its alias."""
    denied = answer.status == DnsStatus.NXDOMAIN and not answer.answers
    return denied and _is_guess(state, answer.name, _level_of(answer.name))


def _is_mixed(state: DomainState, key: Key, gone: list[str]) -> bool:
    """Whether at one and the same address some names went and others stayed."""
    absent = set(gone)
    went: Counter[str] = Counter()
    stayed: set[str] = set()
    for name, answers in state.found.items():
        if name in absent:
            went.update(answers[0].addresses)
        elif _is_guess(state, name, key[1]):
            stayed.update(answers[0].addresses)
    return any(n >= _MIXED and address in stayed for address, n in went.items())


def _is_guess(state: DomainState, name: str, level: str) -> bool:
    """Whether a name of this level may be a wildcard's, for all that its sources know."""
    return _level_of(name) == level and _CERTAIN.isdisjoint(state.sources_of(name))


def _level_of(name: str) -> str:
    return name.partition(".")[2]
