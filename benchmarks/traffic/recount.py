"""Proves that imported logs agree with a count that shares no code: plain loops and py-radix.

    python benchmarks/traffic/recount.py RANGES_FOLDER DOCUMENT

DOCUMENT is what ``packets import --json`` printed; RANGES_FOLDER holds the range files in force,
each name beginning with its provider.
"""

import argparse
import gzip
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import radix

Row = dict[str, str]
_PREFIX = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}/\d{1,2}|[0-9a-fA-F]*:[0-9a-fA-F:.]*/\d{1,3})(?!\w)"
)
# Google's list of all its prefixes covers its services, not what customers rent.
_OWN = "google-goog"


@dataclass
class Trees:
    """Rented prefixes, and providers' own."""

    cloud: radix.Radix = field(default_factory=radix.Radix)
    own: radix.Radix = field(default_factory=radix.Radix)

    def find(self, address: str) -> str | None:
        """Return the cloud of an address."""
        try:
            best = self.cloud.search_best(address)
        except ValueError:
            return None
        return best.data["provider"] if best else None


def read_trees(paths: Iterable[Path]) -> Trees:
    """Everything that looks like a prefix in the files."""
    trees = Trees()
    for path in paths:
        tree = trees.own if path.name.startswith(_OWN) else trees.cloud
        for prefix in _PREFIX.findall("\n".join(read_lines(path))):
            tree.add(prefix).data["provider"] = path.name.partition("-")[0]
    return trees


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a plain or packed file, as far as they go."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", errors="replace", newline="\n") as file:
        try:
            yield from file
        except (EOFError, zlib.error):
            return


def read_rows(path: Path) -> Iterator[Row]:
    """Rows of a log as text, those of the wrong length left out."""
    fields: list[str] = []
    for line in read_lines(path):
        if line.startswith("{"):
            yield {key: str(value) for key, value in json.loads(line).items()}
        elif line.startswith("#fields"):
            fields = line.rstrip("\n").split("\t")[1:]
        elif not line.startswith("#"):
            cells = line.rstrip("\n").split("\t")
            if len(cells) == len(fields):
                yield dict(zip(fields, cells, strict=True))


@dataclass
class Recount:
    """Sums of one log by cloud."""

    total: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)


def recount(path: Path, trees: Trees) -> Recount:
    """Rows and bytes of a log by the cloud of the responder, else of the originator."""
    found = Recount()
    for row in read_rows(path):
        found.total += 1
        cloud = trees.find(row["id.resp_h"]) or trees.find(row["id.orig_h"])
        if cloud is None:
            continue
        found.rows[cloud] += 1
        for name in ("orig_ip_bytes", "resp_ip_bytes"):
            found.bytes[cloud] += int(row[name]) if row.get(name, "-") != "-" else 0
    return found


def main() -> None:
    """Print both counts of every log; exit 1 where they differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ranges", type=Path)
    parser.add_argument("document", type=Path, help="what packets import --json printed")
    given = parser.parse_args()
    trees = read_trees(path for path in given.ranges.iterdir() if path.is_file())
    differ = 0
    for log in json.loads(given.document.read_text())["logs"]:
        counted = recount(Path(log["path"]), trees)
        rows = {cloud: own["rows"] for cloud, own in log["clouds"].items()}
        sizes = {c: own["bytes"] for c, own in log["clouds"].items() if log["kind"] == "conn"}
        same = rows == dict(counted.rows) and all(counted.bytes[c] == n for c, n in sizes.items())
        differ += not same
        shares = ", ".join(f"{c} {n / counted.total:.2%}" for c, n in counted.rows.most_common())
        print(f"{'same' if same else 'DIFFERS'}  {Path(log['path']).name}: {shares or 'no cloud'}")
        if not same:
            print("  ", rows, dict(counted.rows), sizes, dict(counted.bytes))
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
