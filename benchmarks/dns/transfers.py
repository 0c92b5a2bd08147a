"""Proves what a record costs in zone transfers: ours beside dnspython, refusals and cuts included.

NSD serves the zones, a second server cuts some of the transfers in the middle; every record and
every reason is held against the truth.
"""

import argparse
import multiprocessing
import socket
import statistics
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import dns.exception
import dns.message
import dns.query
import dns.rrset

from benchmarks.dns.figures import machine
from benchmarks.dns.workload import TTL_S, NameServer, NoServer, Workload, serving
from crawlers.engine.engine import Engine
from crawlers.engine.nameservers import Server
from crawlers.sources.base import Zone
from crawlers.sources.transfers import TransferLimits, Transfers, ZoneHarvest

LIMIT_US = 25.0
# Of 20 zones 14 are whole, 3 refused, and 3 cut; of each two that are cut, one has a server more.
SHARES = 20
PER_MESSAGE, MESSAGES_BEFORE_CUT = 30, 2
CUT_ADDRESS = "127.0.53.9"
# dnspython gives up by exception, and waits no longer than ours.
SILENCE_S = 5.0

Row = tuple[str, str, str]
# Runs all tasks; the returned function reports, outside the measured time, what was wrong.
Run = Callable[[Sequence["Task"]], Callable[[], list[str]]]


class Task(NamedTuple):
    """One zone, its servers, and what has to come of it."""

    zone: Zone
    status: str
    records: frozenset[Row]
    names: frozenset[str]


def main() -> int:
    """Run, print the table; 1 when a record is missing or too dear."""
    options = _parse()
    served = options.zones - options.zones * 3 // SHARES
    workload = Workload(zones=served)
    with tempfile.TemporaryDirectory() as folder:
        try:
            with serving(workload, Path(folder)) as server, _cutting(workload) as port:
                tasks = list(_build_tasks(workload, options.zones, server, port))
                return _compare(tasks, options.rounds, peer=not options.no_peer)
        except NoServer as error:
            print(f"left out: {error}", file=sys.stderr)
            return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--zones", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-peer", action="store_true", help="leave dnspython out")
    return parser.parse_args()


def _rows(workload: Workload, index: int) -> list[Row]:
    """Every record of a zone as (name, type, data), in the order of its file."""
    origin, rows = workload.origin(index), []
    for line in workload.zone_text(index).splitlines()[2:]:
        label, kind, data = line.split(" ", 2)
        if kind == "SOA":
            primary, mailbox, numbers = data.split(" ", 2)
            data = f"{primary}.{origin} {mailbox}.{origin} {numbers}"
        elif kind in ("NS", "CNAME"):
            data = data.rstrip(".") if data.endswith(".") else f"{data}.{origin}"
        rows.append((origin if label == "@" else f"{label}.{origin}", kind, data))
    return rows


def _build_tasks(
    workload: Workload, zones: int, server: NameServer, cut_port: int
) -> Iterator[Task]:
    good = [Server(address, server.port) for address in server.addresses]
    cutter = Server(CUT_ADDRESS, cut_port)
    place = 0
    for number in range(zones):
        share = number % SHARES
        first = good[number % len(good)]
        if share >= SHARES - 3:
            zone = Zone(f"refused{number}.test", (first, good[(number + 1) % len(good)]))
            yield Task(zone, "REFUSED", frozenset(), frozenset())
            continue
        rows, servers, status = _rows(workload, place), (first,), "OK"
        if share >= SHARES - 6:
            alone = number // SHARES % 2 == 0
            servers = (cutter,) if alone else (cutter, first)
            if alone:
                status, rows = "TRUNCATED", rows[: PER_MESSAGE * MESSAGES_BEFORE_CUT]
        yield Task(Zone(workload.origin(place), servers), status, *_truth(rows))
        place += 1


def _truth(rows: list[Row]) -> tuple[frozenset[Row], frozenset[str]]:
    names = {n for n, kind, _ in rows if kind in ("A", "CNAME") and not n.startswith("*")}
    return frozenset(rows), frozenset(names)


def _compare(tasks: list[Task], rounds: int, *, peer: bool) -> int:
    n_records = sum(len(t.records) for t in tasks)
    engines: dict[str, Run] = {
        "ours, names": _run_names,
        "ours, every record as text": _run_records,
    }
    if peer:
        engines["dnspython, dns.query.xfr"] = _run_dnspython
    costs: dict[str, list[float]] = {label: [] for label in engines}
    faults: list[str] = []
    for _ in range(rounds):
        for label, run in engines.items():
            began = time.process_time()
            check = run(tasks)
            costs[label].append((time.process_time() - began) / n_records * 1e6)
            faults += [f"{label}: {fault}" for fault in check()]
    print(f"{machine()}; {rounds} interleaved rounds, median (least-most)\n")
    reasons = Counter(t.status for t in tasks)
    print(f"{len(tasks):,} zones, {n_records:,} records; {dict(reasons)}\n")
    print("| client | CPU µs per record |\n|---|---|")
    for label, us in costs.items():
        print(f"| {label} | {statistics.median(us):.2f} ({min(us):.2f}-{max(us):.2f}) |")
    for fault in faults[:10]:
        print(f"wrong: {fault}")
    dear = any(statistics.median(us) > LIMIT_US for label, us in costs.items() if label[0] == "o")
    print(f"\n{len(faults)} zones wrong" + (f"; over {LIMIT_US} µs" if dear else ""))
    return int(bool(faults) or dear)


def _harvest(tasks: Sequence[Task], *, keep: bool) -> dict[str, ZoneHarvest]:
    source = Transfers(TransferLimits(silence_s=SILENCE_S), keep=keep)
    zones = [task.zone for task in tasks]
    with Engine(zones[0].servers) as engine:
        return {h.domain: h for h in source.harvest(zones, engine)}


def _run_names(tasks: Sequence[Task]) -> Callable[[], list[str]]:
    found = _harvest(tasks, keep=False)
    return lambda: _check_harvests(tasks, found, keep=False)


def _run_records(tasks: Sequence[Task]) -> Callable[[], list[str]]:
    found = _harvest(tasks, keep=True)
    return lambda: _check_harvests(tasks, found, keep=True)


def _check_harvests(
    tasks: Sequence[Task], found: dict[str, ZoneHarvest], *, keep: bool
) -> list[str]:
    faults = []
    for task in tasks:
        harvest = found[task.zone.domain]
        whole = keep and task.status == "OK"
        rows = [(r.name, r.type, r.data) for r in harvest.records]
        right = (
            harvest.status == task.status
            and harvest.complete == (task.status == "OK")
            and frozenset(harvest.names) == task.names
            and len(harvest.names) == len(task.names)
            and frozenset(rows) == (task.records if whole else frozenset())
            and len(rows) == len(frozenset(rows))
        )
        if not right:
            faults.append(f"{task.zone.domain}: {harvest.status} beside {task.status}")
    return faults


def _run_dnspython(tasks: Sequence[Task]) -> Callable[[], list[str]]:
    found = {task.zone.domain: _ask_dnspython(task.zone) for task in tasks}
    return lambda: [
        f"{task.zone.domain}: {len(found[task.zone.domain])} beside {len(task.records)}"
        for task in tasks
        if _rows_of(found[task.zone.domain]) != task.records
    ]


def _ask_dnspython(zone: Zone) -> list[dns.rrset.RRset]:
    """All that the zone's servers give, one after the other until one gives the whole."""
    best: list[dns.rrset.RRset] = []
    for server in zone.servers:
        found: list[dns.rrset.RRset] = []
        with suppress(dns.exception.DNSException, EOFError, OSError):
            for message in dns.query.xfr(
                server.address,
                zone.domain,
                port=server.port,
                timeout=SILENCE_S,
                relativize=False,
            ):
                found += message.answer
            return found
        best = max(best, found, key=len)
    return best


def _rows_of(found: Iterable[dns.rrset.RRset]) -> frozenset[Row]:
    lines = (line.split(" ", 4) for rrset in found for line in str(rrset).split("\n"))
    return frozenset(
        (name.rstrip("."), kind, data if kind == "TXT" else data.replace(". ", " ").rstrip("."))
        for name, _, _, kind, data in lines
    )


@contextmanager
def _cutting(workload: Workload) -> Iterator[int]:
    """A server, in a separate process, that closes in the middle of every transfer."""
    with socket.create_server((CUT_ADDRESS, 0), backlog=512) as listener:
        process = multiprocessing.get_context("fork").Process(
            target=_cut_all, args=(listener, workload), daemon=True
        )
        process.start()
        try:
            yield listener.getsockname()[1]
        finally:
            process.terminate()
            process.join(10)


def _cut_all(listener: socket.socket, workload: Workload) -> None:
    indexes = {workload.origin(i): i for i in range(workload.zones)}
    while True:
        sock, _ = listener.accept()
        with sock, suppress(OSError):
            size = struct.unpack("!H", sock.recv(2, socket.MSG_WAITALL))[0]
            query = dns.message.from_wire(sock.recv(size, socket.MSG_WAITALL))
            index = indexes[query.question[0].name.to_text(omit_final_dot=True)]
            for wire in _cut_messages(query, _rows(workload, index)):
                sock.sendall(struct.pack("!H", len(wire)) + wire)


def _cut_messages(query: dns.message.Message, rows: list[Row]) -> Iterator[bytes]:
    for start in range(0, PER_MESSAGE * MESSAGES_BEFORE_CUT, PER_MESSAGE):
        message = dns.message.make_response(query)
        for name, kind, data in rows[start : start + PER_MESSAGE]:
            absolute = data
            if kind in ("NS", "CNAME"):
                absolute = f"{data}."
            elif kind == "SOA":
                primary, mailbox, numbers = data.split(" ", 2)
                absolute = f"{primary}. {mailbox}. {numbers}"
            message.answer.append(dns.rrset.from_text(f"{name}.", TTL_S, "IN", kind, absolute))
        yield message.to_wire(max_size=65_535)


if __name__ == "__main__":
    sys.exit(main())
