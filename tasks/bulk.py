"""The bulk resolver and the enumerator behind their commands: no store, no broker."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from core.errors import BadInput
from core.records import Answer, Rejection
from crawlers.engine import Engine, Question
from crawlers.enumeration import Progress, crawl_domains
from crawlers.names import normalise_domain, read_domain_list
from crawlers.output import answer_json, write_answers
from tasks.resolvers import Resolving, crawl_config, open_engine

TYPES = ("A", "AAAA", "CNAME", "NS", "SOA", "TXT", "MX", "PTR", "CAA", "SRV")
# Domains enumerated together: enough to interleave zones, few enough to show progress.
BATCH = 50


def read_names(data: bytes) -> tuple[list[str], list[Rejection]]:
    """Names to resolve, one per line (the first column counts), and what was refused."""
    names, rejected = [], []
    for number, raw in enumerate(data.splitlines(), 1):
        text = raw.decode("utf-8", "replace").strip()
        if not text or text.startswith("#"):
            continue
        try:
            names.append(_one_name(re.split(r"[\s,;]", text)[0]))
        except BadInput as error:
            rejected.append(Rejection(number, text[:100], str(error)))
    return names, rejected


def _one_name(text: str) -> str:
    # Service labels such as _dmarc are good names to ask for, though no host is called so.
    plain = text.rstrip(".").lower()
    if re.fullmatch(r"[a-z0-9_*-]{1,63}(\.[a-z0-9_-]{1,63})*", plain) and len(plain) <= 253:
        return plain
    return normalise_domain(text)


def check_types(types: Sequence[str]) -> list[str]:
    """Record types in upper case; raises ``BadInput`` for one that is not offered."""
    chosen = [t.upper() for t in types] or ["A"]
    for name in chosen:
        if name not in TYPES:
            raise BadInput(f"{name} is not offered; use one of {' '.join(TYPES)}", field="type")
    return chosen


def resolve_names(
    names: Iterable[str],
    types: Sequence[str],
    options: Resolving,
    on_answer: Callable[[Engine], None] | None = None,
) -> Iterator[Answer]:
    """Answers in order of arrival, one per (name, type)."""
    with open_engine(options) as engine:
        questions = (Question(name, t) for name in names for t in types)
        for _, answer in engine.resolve(questions):
            yield answer
            if on_answer:
                on_answer(engine)


def save_answers(answers: Iterable[Answer], path: str) -> int:
    """Write answers to ``.jsonl`` or ``.parquet``; returns how many."""
    if path.endswith(".parquet"):
        return write_answers(answers, Path(path))
    count = 0
    with Path(path).open("w", encoding="utf-8") as handle:
        for answer in answers:
            handle.write(answer_json(answer) + "\n")
            count += 1
    return count


def answer_line(answer: Answer) -> str:
    """One line of ``resolve``."""
    return answer_json(answer)


def enumerate_list(
    data: bytes, options: Resolving, on_progress: Callable[[Progress], None] | None = None
) -> Iterator[dict[str, Any]]:
    """Found names of a domain list as ``{domain, name, technique}``, batch by batch."""
    entries = read_domain_list(data).entries
    with open_engine(options) as engine:
        for first in range(0, len(entries), BATCH):
            batch = entries[first : first + BATCH]
            crawl = crawl_domains(batch, engine, crawl_config(options), on_progress)
            yield from _found(crawl.lookups)


def _found(lookups: Iterable[Any]) -> list[dict[str, Any]]:
    found = {}
    for lookup in lookups:
        name = lookup.answer.name
        own = lookup.technique != "listed" or name == lookup.domain
        if own and lookup.answer.type in ("A", "AAAA") and lookup.answer.status == "NOERROR":
            row = {"domain": lookup.domain, "name": name, "technique": str(lookup.technique)}
            found[(lookup.domain, name)] = row
    return [found[key] for key in sorted(found)]


def list_rejections(data: bytes) -> list[Rejection]:
    """What a domain list holds that cannot be used."""
    return list(read_domain_list(data).rejected)
