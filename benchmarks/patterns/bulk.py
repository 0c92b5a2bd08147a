"""Proves what labels cost: rules by suffix index and as joins, beside a loop of expressions.

A million chains, of which a share meets a rule; every engine must find the same matches.
"""

import argparse
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import duckdb
import numpy as np
import pyarrow as pa

from cartography.patterns import load_rules
from cartography.patterns.fronts import own_matcher
from cartography.patterns.tables import FRONTS_SQL, MATCHES_SQL, open_patterns

RULES = load_rules()


def build_targets(n: int, share: float, seed: int) -> list[str]:
    """Distinct CNAME targets; ``share`` of them below a rule's suffix."""
    rng = np.random.default_rng(seed)
    suffixes = [v.replace("*", "eu-west-1") for r in RULES if r.by_cname for v in r.values]
    known = rng.random(n) < share
    which = rng.integers(len(suffixes), size=n)
    return [
        f"h{i}.{suffixes[which[i]]}" if known[i] else f"h{i}.site{i % 50_000}.example.net"
        for i in range(n)
    ]


def by_index(targets: list[str]) -> int:
    """Matches of the suffix index, name by name."""
    match = own_matcher().match_name
    return sum(len(match(target)) for target in targets)


def by_joins(targets: list[str], threads: int = 1) -> int:
    """Matches of the joins, all names at once."""
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {threads}")
        open_patterns(connection)
        chains = pa.table({"name": targets, "cname": targets})
        connection.register("rows", chains)
        connection.execute("CREATE TEMP VIEW chains AS SELECT * FROM rows")
        connection.execute(MATCHES_SQL)
        return int(connection.execute("SELECT count(*) FROM pattern_matches").fetchall()[0][0])


def by_expressions(targets: list[str]) -> int:
    """One compiled expression per rule, as rule lists are commonly applied."""
    rules = []
    for rule in RULES:
        if rule.match == "cname_suffix":
            values = "|".join(re.escape(v).replace(r"\*", r"[^.]+") for v in rule.values)
            rules.append(re.compile(rf"(?:^|\.)(?:{values})$"))
        elif rule.match == "cname_contains":
            rules.append(re.compile("|".join(re.escape(v) for v in rule.values)))
    return sum(bool(rule.search(target)) for target in targets for rule in rules)


def cost(run: Callable[[list[str]], int], targets: list[str]) -> tuple[float, int]:
    """CPU microseconds per target, and the matches."""
    start = time.process_time()
    found = run(targets)
    return (time.process_time() - start) / len(targets) * 1e6, found


def all_labels(n: int) -> float:
    """CPU seconds for all labels of ``n`` names with one CNAME and one address each."""
    targets = build_targets(n, 0.3, 2)
    places = pa.table(
        {
            "name": [f"n{i}" for i in range(n)],
            "address": [f"198.51.{i % 200}.{i % 250}" for i in range(n)],
            "provider": ["aws" if i % 2 else "azure" for i in range(n)],
            "service": ["EC2"] * n,
            "kind": ["cloud"] * n,
            "region": ["us-east-1"] * n,
        }
    )
    with duckdb.connect() as connection:
        open_patterns(connection)
        connection.register("chain_rows", pa.table({"name": places["name"], "cname": targets}))
        connection.register("place_rows", places)
        connection.execute("CREATE TEMP VIEW chains AS SELECT * FROM chain_rows")
        connection.execute("CREATE TEMP VIEW placed AS SELECT * FROM place_rows")
        start = time.process_time()
        connection.execute(MATCHES_SQL)
        connection.execute(f"CREATE TEMP TABLE fronts AS {FRONTS_SQL}")
        return time.process_time() - start


def main() -> None:
    """Print costs per target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, default=1_000_000)
    options = parser.parse_args()
    for share in (0.02, 0.3):
        targets = build_targets(options.targets, share, 1)
        peers = targets[: options.targets // 20]
        index, found = cost(by_index, targets)
        joins, joined = cost(by_joins, targets)
        loop, seen = cost(by_expressions, peers)
        assert found == joined
        assert seen == by_index(peers)
        print(f"{share:4.0%} known: index {index:.2f} us, joins {joins:.2f} us, loop {loop:.1f} us")
    print(
        f"all labels of {options.targets:,} names by joins: {all_labels(options.targets):.1f} CPU s"
    )


if __name__ == "__main__":
    main()
