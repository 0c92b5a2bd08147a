"""Answer files of every engine, read into one form and held against the truth."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.dns.workload import Expected

Named = tuple[str, Expected]


def read_answers(path: Path, label: str) -> Iterator[Named]:
    """Each answer of an output file, in the form of the truth."""
    if path.suffix == ".parquet":
        return (_own(row) for row in pq.read_table(path).to_pylist())
    reader = _READERS.get(label.split()[0], _own)
    with path.open() as handle:
        return map(reader, [json.loads(line) for line in handle])


def compare(
    answers: Iterable[Named], truth: Mapping[str, Expected], asked: int
) -> tuple[int, Counter[str]]:
    """How many names have exactly the true answer, and what is wrong with the others.

    Every name must be answered exactly once.
    """
    seen: set[str] = set()
    right, wrong = 0, Counter[str]()
    for name, answer in answers:
        expected = truth[name]
        if name in seen:
            wrong["doubled"] += 1
        elif answer == expected:
            right += 1
        else:
            wrong[_difference(answer, expected)] += 1
        seen.add(name)
    if asked > len(seen):
        wrong["no line"] = asked - len(seen)
    return right, wrong


def _difference(answer: Expected, expected: Expected) -> str:
    if answer.status != expected.status:
        return f"{answer.status} for {expected.status}"
    return "chain" if answer.chain != expected.chain else "addresses"


def chain_of(name: str, status: str, records: Iterable[tuple[str, str, str]]) -> Named:
    """An answer from (owner, type, data) records in any order, names without final dot."""
    rows = list(records)
    targets = {owner: data for owner, kind, data in rows if kind == "CNAME"}
    chain, owner = [], name
    while owner in targets and len(chain) <= len(targets):
        owner = targets[owner]
        chain.append(owner)
    addresses = tuple(sorted(data for at, kind, data in rows if kind == "A" and at == owner))
    if status == "NOERROR" and not addresses:
        status = "NODATA"
    return name, Expected(status, tuple(chain), addresses)


def _own(row: dict[str, Any]) -> Named:
    records = [(r["name"], r["type"], r["data"]) for r in row["answers"]]
    return chain_of(row["name"], row["status"], records)


def _from_zdns(row: dict[str, Any]) -> Named:
    result = row["results"]["A"]
    answers = (result.get("data") or {}).get("answers") or []
    records = [(r["name"], r["type"], r["answer"].rstrip(".")) for r in answers]
    return chain_of(row["name"], result["status"], records)


def _from_massdns(row: dict[str, Any]) -> Named:
    answers = row.get("data", {}).get("answers") or []
    records = [(r["name"].rstrip("."), r["type"], r["data"].rstrip(".")) for r in answers]
    return chain_of(row["name"].rstrip("."), row.get("status", "NONE"), records)


def _from_library(row: dict[str, Any]) -> Named:
    addresses = tuple(sorted(row["addresses"]))
    return row["name"], Expected(row["status"], tuple(row["chain"]), addresses)


_READERS = {
    "zdns": _from_zdns,
    "massdns": _from_massdns,
    "dnspython": _from_library,
    "aiodns": _from_library,
}
