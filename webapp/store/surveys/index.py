"""Reading the index of a survey: a domain, a page of domains, its names, who fails with what.

Every read opens one batch of rows of one file, so that a page costs the same in a survey of a
million domains as in one of ten.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.index.profiles import ANYWHERE, Hosted, parents_of
from analysis.index.search import NameFile
from lake.open_files import OpenFiles
from lake.row_files import RowFile, open_rows
from webapp.store.models import Survey
from webapp.store.surveys import derived

Row = dict[str, Any]
# All names of the survey, for the search.
NAMES = "names.txt"
# The sets of providers and the like that domains and names carry.
SETS = ("providers", "regions", "patterns", "zones")


@dataclass(frozen=True)
class Index:
    """The files of one survey's index."""

    folder: Path

    @property
    def domains(self) -> RowFile:
        """The domains by rank."""
        return open_rows(self.folder, "domains")

    def domain(self, domain: str, columns: Sequence[str] | None = None) -> Row | None:
        """The row of one domain, or some ``columns`` of it, among them ``domain``."""
        digest = hashlib.md5(domain.encode(), usedforsecurity=False).digest()
        wanted = np.uint64(int.from_bytes(digest[8:], "little"))
        hashes = _arrays.get(self.folder / "hashes.npy")
        places = _arrays.get(self.folder / "rows.npy")
        at = int(np.searchsorted(hashes, wanted))
        while at < len(hashes) and hashes[at] == wanted:
            found = self.domains.rows(int(places[at]), 1, columns)[0]
            if found["domain"] == domain:
                return found
            at += 1
        return None

    def homes_of(self, name: str) -> dict[str, str]:
        """The listed domains that a name lies in, each with its shard."""
        rows = [self.domain(parent, ("domain", "shard")) for parent in parents_of(name)]
        return {row["domain"]: row["shard"] for row in rows if row}

    def names(self, row: Row, first: int, count: int) -> list[Row]:
        """Some of the names of a domain, cloud-using ones first."""
        count = max(0, min(count, row["total"] - first))
        return open_rows(self.folder, f"names-{row['part']:05d}").rows(row["first"] + first, count)

    def matches(self, text: str) -> np.ndarray[Any, Any]:
        """Numbers of the rows with a domain that contains the text, by rank."""
        hits = pc.match_substring(_domain_column(self.folder), text)
        return np.flatnonzero(hits.to_numpy(zero_copy_only=False))

    def chosen(self, text: str, hosted: Hosted = ANYWHERE) -> Sequence[int]:
        """Numbers of the rows, by rank: the text in the domain, and a name hosted there.

        Empty values choose all.
        """
        places: Sequence[int] = range(self.domains.n_rows)
        if text:
            places = self.matches(text).tolist()
        if not hosted.provider:
            return places
        there = set(self.having(*_set_of(hosted)).tolist())
        return [place for place in places if place in there] if text else sorted(there)

    def rows(self, places: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Some columns of the rows with these numbers, in their order."""
        found = pa.table({name: self.domains.column(name) for name in columns})
        return found.take(pa.array(places, pa.int64()))

    def providers(self) -> list[str]:
        """Providers that have a name of some domain."""
        return list(_providers(self.folder))

    def names_holding(self, text: str, limit: int) -> list[str] | None:
        """The closest names that hold the text; ``None`` where an index of old has no names."""
        path = self.folder / NAMES
        return _names.get(path).closest(text, limit) if path.exists() else None

    def having(self, kind: str, key: str) -> np.ndarray[Any, Any]:
        """Numbers of the rows with a key in the set ``kind``, by rank."""
        sets = _set_column(self.folder, kind)
        hits = pc.equal(pc.list_flatten(sets), key).to_numpy(zero_copy_only=False)
        return np.unique(pc.list_parent_indices(sets).to_numpy()[hits])

    def targets(self) -> dict[str, list[int]]:
        """``kind/provider/target`` of every outage, with its first row and their number."""
        return _targets(self.folder)

    def affected_domains(self, kind: str, provider: str, target: str) -> "AffectedDomains":
        """The domains that an outage hits."""
        first, count = self.targets().get(f"{kind}/{provider}/{target}", (0, 0))
        return AffectedDomains(open_rows(self.folder, "casualties"), first, count)


@dataclass(frozen=True)
class AffectedDomains:
    """A span of rows, those that are down first."""

    file: RowFile
    first: int
    total: int

    def page(self, first: int, count: int) -> list[Row]:
        """Some of them."""
        return self.file.rows(self.first + first, max(0, min(count, self.total - first)))


def index_of(survey: Survey) -> Index | None:
    """The index of a survey, where it has been made."""
    return open_index(survey.slug, survey.finished_at)


def open_index(slug: str, finished_at: datetime | None) -> Index | None:
    """The index of the survey that ended then, where it has been made."""
    place = derived.Derived(derived.index_folder(slug, finished_at))
    return Index(place.folder) if place.is_ready else None


def _map_array(path: Path) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = np.load(path, mmap_mode="r")
    return found


_arrays = OpenFiles(_map_array, 64)
_names = OpenFiles(NameFile, 32)
# Threads that need the same column wait for the first to read it.
_reading = Lock()


@lru_cache(maxsize=4)
def _domain_column(folder: Path) -> pa.Array:
    return open_rows(folder, "domains").column("domain").combine_chunks()


def _set_column(folder: Path, kind: str) -> pa.Array:
    with _reading:
        return _read_sets(folder, kind)


@lru_cache(maxsize=32)
def _providers(folder: Path) -> list[str]:
    return sorted(pc.unique(_set_column(folder, "providers").flatten()).to_pylist())


@lru_cache(maxsize=16)
def _read_sets(folder: Path, kind: str) -> pa.Array:
    return open_rows(folder, "domains").column(kind).combine_chunks()


@lru_cache(maxsize=32)
def _targets(folder: Path) -> dict[str, list[int]]:
    found: dict[str, list[int]] = json.loads((folder / "targets.json").read_text())
    return found


def _set_of(hosted: Hosted) -> tuple[str, str]:
    """The set, and the key in it, that the domains hosted there have."""
    if not hosted.region:
        return "providers", hosted.provider
    if not hosted.zone:
        return "regions", f"{hosted.provider} {hosted.region}"
    return "zones", f"{hosted.provider} {full_zone(hosted.region, hosted.zone)}"


def full_zone(region: str, zone: str) -> str:
    """The name of a zone with its region, which some names begin with: ``us-east-1a``."""
    return zone if zone.startswith(region) else f"{region} {zone}"


def plain(key: str) -> str:
    """A region, pattern or zone without the provider that its key carries."""
    return key.partition(" ")[2]
