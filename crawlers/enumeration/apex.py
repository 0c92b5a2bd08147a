"""The domains themselves: their own addresses, their name servers, and whether they answer."""

from collections import Counter

from core.records import Answer
from core.statuses import ANSWERED, DnsStatus, Technique
from crawlers.enumeration.batch import OPTED_OUT, Batch
from crawlers.enumeration.domain_state import DomainState


def ask_seeds(batch: Batch) -> list[DomainState]:
    """The domains of a batch that answer, with their name servers known."""
    asked = [state for state in batch.states if not _opted_out(batch, state)]
    _ask_apexes(batch, asked)
    alive = [state for state in asked if state.is_alive]
    _ask_name_servers(batch, alive)
    return alive


def _opted_out(batch: Batch, state: DomainState) -> bool:
    out = batch.opt_out.covers(state.domain)
    if out:
        state.skip(1, OPTED_OUT)
    return out


def _ask_apexes(batch: Batch, states: list[DomainState]) -> None:
    answered: Counter[int] = Counter()
    asked = ((x.number, x.domain, rrtype) for x in states for rrtype in ("A", "NS"))
    for number, answer in batch.ask(asked):
        state = batch.states[number]
        answered[number] += answer.status in ANSWERED
        state.tag((state.domain,), Technique.LISTED)
        if answer.type == "NS":
            state.add_other(answer, Technique.LISTED)
            state.hosts = tuple(sorted({r.data for r in answer.answers if r.type == "NS"}))
            continue
        state.add_answer(answer)
        state.is_alive = answer.status != DnsStatus.NXDOMAIN or bool(answer.answers)
    for state in states:
        if not answered[state.number]:
            # A zone that answered nothing would only time out once per word.
            state.is_alive = False
            state.skip(len(batch.config.wordlist), str(DnsStatus.SKIPPED))


def _ask_name_servers(batch: Batch, states: list[DomainState]) -> None:
    owners: dict[str, int] = {}
    for state in states:
        for host in state.hosts:
            owners.setdefault(host, state.number)
    asked = {host: n for host, n in owners.items() if not batch.opt_out.covers(host)}
    for host in owners.keys() - asked.keys():
        batch.host_answers[host] = Answer(host, "A", DnsStatus.SKIPPED, attempts=0)
    for _, answer in batch.ask((number, host, "A") for host, number in asked.items()):
        batch.host_answers[answer.name] = answer
    for state in states:
        for host in state.hosts:
            state.add_other(batch.host_answers[host], Technique.LISTED)
