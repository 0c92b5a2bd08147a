"""Follow the CNAME chain of a reply from the name that was queried."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from core.records import Record

MAX_CHAIN = 16


class Chain(NamedTuple):
    """Return the records that answer a question, in chain order.

    ``target`` is the last CNAME target where the reply has no records of it, so that it must be
    queried; ``loop`` is true where the chain repeats a name or exceeds the limit.
    """

    records: tuple[Record, ...]
    complete: bool
    target: str | None
    loop: bool = False


def follow(name: str, rrtype: str, answers: Sequence[Record]) -> Chain:
    """Walk from ``name`` through the CNAMEs of ``answers``; unrelated records are left out."""
    if not answers:
        return Chain((), False, None)
    first = answers[0]
    if first.name == name and first.type == rrtype and all(r.name == name for r in answers):
        return Chain(tuple(r for r in answers if r.type == rrtype), True, None)
    return _walk(name, rrtype, answers)


def _walk(name: str, rrtype: str, answers: Sequence[Record]) -> Chain:
    aliases = {r.name: r for r in answers if r.type == "CNAME"}
    records: list[Record] = []
    seen = {name}
    while True:
        final = [r for r in answers if r.name == name and r.type == rrtype]
        if final:
            return Chain((*records, *final), True, None)
        alias = aliases.get(name)
        if alias is None:
            return Chain(tuple(records), False, name if records else None)
        records.append(alias)
        name = alias.data
        if name in seen or len(records) > MAX_CHAIN:
            return Chain(tuple(records), False, None, loop=True)
        seen.add(name)


def joined(parts: Iterable[Sequence[Record]]) -> tuple[Record, ...]:
    """Chain parts as one, without repeats."""
    return tuple(dict.fromkeys(record for part in parts for record in part))
