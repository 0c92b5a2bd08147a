"""Address maps as snapshot files: intervals and bucket indexes of both families, and what a
table adds to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cartography.addresses.array_file import open_snapshot, write_snapshot
from cartography.addresses.buckets import Buckets4, Buckets6
from cartography.addresses.intervals import Column, Intervals
from cartography.addresses.matching import AddressMap
from core.errors import BadInput

# Raised whenever the arrays of a file, or the rule of labels, become others.
FORMAT = 2


@dataclass(frozen=True, slots=True)
class CompiledMap:
    """An opened file: the map, and the arrays and the document that its table added."""

    addresses: AddressMap
    arrays: Mapping[str, NDArray[Any]]
    document: dict[str, Any]
    digest: str


def write_map(
    path: Path,
    kind: str,
    addresses: AddressMap,
    arrays: Mapping[str, Any],
    document: Mapping[str, Any],
) -> str:
    """Write a map with a table's own arrays; returns the digest of the contents."""
    ipv4, ipv6 = addresses.families[4], addresses.families[6]
    fine, wide = addresses.buckets
    own: dict[str, Any] = {
        "starts4": ipv4.starts.low,
        "labels4": ipv4.labels,
        "words": fine.words,
        "cells": fine.cells,
        "fine_words": fine.fine_words,
        "fine_cells": fine.fine_cells,
        "starts6_high": ipv6.starts.high,
        "starts6_low": ipv6.starts.low,
        "labels6": ipv6.labels,
        "tops": wide.tops,
        "ends": wide.ends,
    }
    return write_snapshot(path, kind, {**own, **arrays}, document)


def open_map(path: Path, kind: str) -> CompiledMap:
    """Map a file; raises ``BadInput`` when it is damaged or of another kind, ``OSError`` when it
    is not there."""
    found = open_snapshot(path)
    if found.kind != kind:
        raise BadInput(f"the compiled table {path.name} is one of {found.kind}, not of {kind}")
    try:
        addresses = _addresses(found.arrays)
    except KeyError as error:
        raise BadInput(f"the compiled table {path.name} lacks {error}; it is of old") from error
    return CompiledMap(addresses, found.arrays, found.document, found.digest)


def _addresses(a: Mapping[str, NDArray[Any]]) -> AddressMap:
    fine = Buckets4(a["words"], a["cells"], a["fine_words"], a["fine_cells"])
    return AddressMap(
        Intervals(Column(4, a["starts4"]), a["labels4"]),
        Intervals(Column(6, a["starts6_low"], a["starts6_high"]), a["labels6"]),
        (fine, Buckets6(a["tops"], a["ends"])),
    )
