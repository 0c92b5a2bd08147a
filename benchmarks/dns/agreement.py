"""Whether every record of our answers is the one that dnspython reads from the same server."""

import json
import multiprocessing
import secrets
import socket
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

PROCESSES = 2
_TRIES = 5
Records = frozenset[tuple[str, str, int, str]]


class Reading(NamedTuple):
    """Contents of a reply, records without order."""

    status: str
    answers: Records
    authorities: Records


def disagreements(answers_file: Path, servers: Sequence[str]) -> tuple[int, Counter[str]]:
    """How many answers were held against dnspython's reading, and what differs."""
    with answers_file.open() as handle:
        lines = handle.readlines()
    parts = [(lines[i::PROCESSES], servers[i % len(servers)]) for i in range(PROCESSES)]
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        found = pool.starmap(_compare_lines, parts)
    return len(lines), sum(found, Counter())


def _compare_lines(lines: Iterable[str], server: str) -> Counter[str]:
    differences = Counter[str]()
    address, _, port = server.rpartition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((address, int(port)))
        sock.settimeout(1)
        for line in lines:
            row = json.loads(line)
            own = Reading(row["status"], _own(row["answers"]), _own(row["authorities"]))
            theirs = _read_message(_ask(sock, row["name"]))
            differences.update(f for f in Reading._fields if getattr(own, f) != getattr(theirs, f))
    return differences


def _ask(sock: socket.socket, name: str) -> dns.message.Message:
    # The query is written by hand: only the reading of replies is dnspython's part here.
    encoded = b"".join(bytes((len(p),)) + p.encode() for p in name.split("."))
    for _ in range(_TRIES):
        query_id = secrets.token_bytes(2)
        sock.send(query_id + struct.pack("!HHHHH", 0x100, 1, 0, 0, 0) + encoded + b"\0\0\1\0\1")
        try:
            while (reply := sock.recv(65_535))[:2] != query_id:
                pass
        except TimeoutError:
            continue
        return dns.message.from_wire(reply)
    raise TimeoutError(f"no reply about {name}")


def _own(records: Iterable[dict[str, str | int]]) -> Records:
    return frozenset((r["name"], r["type"], r["ttl"], r["data"]) for r in records)


def _read_message(message: dns.message.Message) -> Reading:
    answers = _read_section(message.answer)
    status = dns.rcode.to_text(message.rcode())
    if status == "NOERROR" and not any(kind == "A" for _, kind, _, _ in answers):
        status = "NODATA"
    return Reading(status, answers, _read_section(message.authority))


def _read_section(section: Iterable[dns.rrset.RRset]) -> Records:
    return frozenset(
        (
            rrset.name.to_text(True).lower(),
            dns.rdatatype.to_text(rrset.rdtype),
            rrset.ttl,
            " ".join(word.rstrip(".") for word in data.to_text().split()),
        )
        for rrset in section
        for data in rrset
    )
