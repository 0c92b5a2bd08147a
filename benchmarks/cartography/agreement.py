"""Answers beside the peers': random addresses, and every edge of every interval with both of its
neighbours. One address that differs ends the run.
"""

import sys

import numpy as np
import pyarrow as pa

from benchmarks.cartography import peers, tables
from cartography.addresses.intervals import Column
from cartography.addresses.prefixes import write_address

_BATCH = 500_000


def check(case: tables.Case, n_random: int) -> None:
    """Compare all answers of one table; raises ``SystemExit`` with the first that differs."""
    for family in (4, 6):
        if not case.prefixes[family]:
            continue
        loaded = peers.load_all(case.prefixes[family], family)
        edges = edges_of(case, family)
        compare(case, family, edges, loaded)
        generator = np.random.default_rng(4)
        # IPv6 addresses take Python ten times as long to make as all others take to compare them.
        n_random = n_random if family == 4 else n_random // 10
        for begin in range(0, n_random, _BATCH):
            size = min(_BATCH, n_random - begin)
            compare(case, family, unknown_addresses(case, family, size, generator), loaded)
        names = " and ".join(peer.name for peer in loaded) or "nobody"
        counts = f"{len(edges):,} edges and neighbours, {n_random:,} random addresses"
        print(f"{case.name}, IPv{family}: {counts}: equal to {names}")


def edges_of(case: tables.Case, family: int) -> list[int]:
    """Every first address of an interval, and those before and behind it."""
    last = (1 << (32 if family == 4 else 128)) - 1
    starts = case.addresses.families[family].starts.numbers()
    return sorted({n + step for n in starts for step in (-1, 0, 1) if 0 <= n + step <= last})


def unknown_addresses(
    case: tables.Case, family: int, count: int, generator: np.random.Generator
) -> list[int]:
    """Random addresses: uniform ones for IPv4; for IPv6, half of them near the table's edges, since
    chance finds no prefix there."""
    if family == 4:
        return [int(n) for n in generator.integers(0, 1 << 32, count)]
    starts = case.addresses.families[6].starts.numbers()
    picks = generator.integers(0, len(starts), count)
    shifts = generator.integers(0, 128, count)
    noise = [int.from_bytes(generator.bytes(16)) for _ in range(count)]
    return [(starts[p] ^ (n >> int(s))) for p, n, s in zip(picks, noise, shifts, strict=True)]


def compare(case: tables.Case, family: int, asked: list[int], loaded: list[peers.Peer]) -> None:
    """Ours by number, by text and one by one beside each peer's."""
    own = answers(case, family, asked)
    packed = [n.to_bytes(4 if family == 4 else 16) for n in asked]
    for peer in loaded:
        keys = packed if peer.packs else asked
        theirs = np.array([peer.read(peer.by_number(key)) for key in keys], dtype=np.int64)
        # A mapped address is IPv4 to us, and an IPv6 address like any other to the peers.
        differs = [i for i in np.flatnonzero(own != theirs) if asked[int(i)] >> 32 != 0xFFFF]
        if differs:
            at = int(differs[0])
            sys.exit(f"{case.name}: {asked[at]}: {own[at]} here, {theirs[at]} by {peer.name}")


def answers(case: tables.Case, family: int, asked: list[int]) -> np.ndarray:
    """Our answers; every way of asking has to give the same."""
    column = Column.of(family, asked)
    if column.high is None:
        labels = case.addresses.match_ipv4(column.low)
    else:
        labels = case.addresses.match_ipv6(column.high, column.low)
    texts = [write_address(family, n) for n in asked]
    if not (case.addresses.match_text(pa.array(texts)) == labels).all():
        sys.exit(f"{case.name}: text and numbers differ")
    step = max(1, len(asked) // 20_000)
    if [case.addresses.find(text) for text in texts[::step]] != labels[::step].tolist():
        sys.exit(f"{case.name}: single lookups and columns differ")
    return case.numbers[labels]
