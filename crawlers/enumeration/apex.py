"""The domains themselves: their own addresses, their name servers, and whether they answer."""

from collections import Counter

from core.records import Answer
from core.statuses import ANSWERED, DnsStatus, Technique
from crawlers.enumeration.batch import OPTED_OUT, Batch
from crawlers.enumeration.domain_state import Ledger


def ask_seeds(batch: Batch) -> list[Ledger]:
    """The domains of a batch that answer, with their name servers known."""
    asked = [ledger for ledger in batch.ledgers if not _opted_out(batch, ledger)]
    _ask_apexes(batch, asked)
    alive = [ledger for ledger in asked if ledger.is_alive]
    _ask_name_servers(batch, alive)
    return alive


def _opted_out(batch: Batch, ledger: Ledger) -> bool:
    out = batch.opt_out.covers(ledger.domain)
    if out:
        ledger.skip(1, OPTED_OUT)
    return out


def _ask_apexes(batch: Batch, ledgers: list[Ledger]) -> None:
    answered: Counter[int] = Counter()
    asked = ((x.number, x.domain, rrtype) for x in ledgers for rrtype in ("A", "NS"))
    for number, answer in batch.ask(asked):
        ledger = batch.ledgers[number]
        answered[number] += answer.status in ANSWERED
        ledger.tag((ledger.domain,), Technique.LISTED)
        if answer.type == "NS":
            ledger.keep(answer, Technique.LISTED)
            ledger.hosts = tuple(sorted({r.data for r in answer.answers if r.type == "NS"}))
            continue
        ledger.judge(answer)
        ledger.is_alive = answer.status != DnsStatus.NXDOMAIN or bool(answer.answers)
    for ledger in ledgers:
        if not answered[ledger.number]:
            # A zone that answered nothing would only time out once per word.
            ledger.is_alive = False
            ledger.skip(len(batch.config.wordlist), str(DnsStatus.SKIPPED))


def _ask_name_servers(batch: Batch, ledgers: list[Ledger]) -> None:
    owners: dict[str, int] = {}
    for ledger in ledgers:
        for host in ledger.hosts:
            owners.setdefault(host, ledger.number)
    asked = {host: n for host, n in owners.items() if not batch.opt_out.covers(host)}
    for host in owners.keys() - asked.keys():
        batch.host_answers[host] = Answer(host, "A", DnsStatus.SKIPPED, attempts=0)
    for _, answer in batch.ask((number, host, "A") for host, number in asked.items()):
        batch.host_answers[answer.name] = answer
    for ledger in ledgers:
        for host in ledger.hosts:
            ledger.keep(batch.host_answers[host], Technique.LISTED)
