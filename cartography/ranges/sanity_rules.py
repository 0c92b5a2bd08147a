"""What a provider's files never do: a file that does is damaged, or the custom has changed.

In goes one file; out comes the first breach of a custom, in words. The customs held in thousands of
published files, so that one changed digit often breaks one: see ``docs/methods/ranges.md``.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from cartography.addresses.prefixes import BITS, read_prefix
from cartography.ranges.range_file import RangeEntry, RangeFile

AMAZON = "AMAZON"
AZURE = "AzureCloud"
# Up to this share of rows that lie in no block of AMAZON's are taken for damage.
_DAMAGED_SHARE = 0.01
_Key = tuple[int, int, int]


def find_breach(file: RangeFile) -> str | None:
    """The first breach of its provider's customs, ``None`` when there is none."""
    breaches = (breach for find in _CUSTOMS.get(file.provider, ()) for breach in find(file))
    return next(breaches, None)


def _overlaps(file: RangeFile, group: Callable[[RangeEntry], Hashable]) -> Iterator[str]:
    """Prefixes of one group that overlap; the rows of a block with several tags are one."""
    groups: dict[Hashable, set[tuple[_Key, str]]] = defaultdict(set)
    for entry in file.entries:
        place = f" ({entry.region_as_published})" if entry.region_as_published else ""
        groups[group(entry)].add((read_prefix(entry.prefix), entry.prefix + place))
    for rows in groups.values():
        for (inner, outer_text), (key, text) in pairwise(sorted(rows)):
            family, first, length = inner
            if family == key[0] and key[1] < first + (1 << (BITS[family] - length)):
                yield f"{outer_text} and {text} overlap, as none of its prefixes do"


def _repeats(file: RangeFile) -> Iterator[str]:
    """A row that stands twice; Amazon and Microsoft have published such."""
    seen: set[RangeEntry] = set()
    for entry in file.entries:
        if entry in seen:
            yield f"{entry.prefix} ({entry.region_as_published or entry.service}) stands twice"
        seen.add(entry)


def _overlaps_anywhere(file: RangeFile) -> Iterator[str]:
    # Google's own addresses say nothing of places, so that an overlap is no contradiction.
    return iter(()) if file.variant == "goog" else _overlaps(file, lambda entry: None)


def _overlaps_in_tags(file: RangeFile) -> Iterator[str]:
    return _overlaps(file, lambda entry: (entry.service, entry.region_as_published))


def _overlaps_of_regions(file: RangeFile) -> Iterator[str]:
    """Regions share no block, whatever the services in them do."""
    rows = _rows(file, AZURE, is_regional=True)
    return _overlaps(RangeFile(file.provider, file.as_of, rows), lambda entry: None)


def _rows(file: RangeFile, service: str, *, is_regional: bool) -> tuple[RangeEntry, ...]:
    return tuple(
        e
        for e in file.entries
        if e.service == service and bool(e.region_as_published) == is_regional
    )


def _strangers_of_regions(file: RangeFile) -> Iterator[str]:
    """What a region has, the collective tag has too."""
    whole = {entry.prefix for entry in _rows(file, AZURE, is_regional=False)}
    for entry in _rows(file, AZURE, is_regional=True) if whole else ():
        if entry.prefix not in whole:
            yield f"{entry.prefix} is in AzureCloud.{entry.region_as_published}, not in AzureCloud"


def _contradictions(file: RangeFile) -> Iterator[str]:
    """One prefix is in one place, under whatever services it stands."""
    place: dict[str, tuple[str | None, str | None]] = {}
    for entry in file.entries:
        said = (entry.region_as_published, entry.border_group)
        known = place.setdefault(entry.prefix, said)
        if known != said:
            yield f"{entry.prefix} stands in {_words(known)} and in {_words(said)}"


def _words(place: Sequence[str | None]) -> str:
    return " ".join(dict.fromkeys(part for part in place if part)) or "no region"


def _disorder(file: RangeFile) -> Iterator[str]:
    """The rows of one region stand in the order of their addresses."""
    keyed = ((e.service, e.region_as_published, ":" in e.prefix) for e in file.entries)
    rows = zip(keyed, file.entries, strict=True)
    for _, group in groupby(rows, key=lambda row: row[0]):
        yield from _unordered(entry.prefix for _, entry in group)


def _unordered(prefixes: Iterable[str]) -> Iterator[str]:
    for (key, text), (after, next_text) in pairwise((read_prefix(p), p) for p in prefixes):
        if after < key:
            yield f"{next_text} stands behind {text}, while all others are in order"


def _uncovered(file: RangeFile) -> Iterator[str]:
    """Every row of a service lies within a row of AMAZON of the same place."""
    around = {read_prefix(e.prefix): e for e in file.entries if e.service == AMAZON}
    found = [(e, _around(e.prefix, around)) for e in file.entries if e.service != AMAZON]
    lost = [entry for entry, outer in found if outer is None]
    # Where many are outside, the custom has changed.
    if 0 < len(lost) <= len(file.entries) * _DAMAGED_SHARE:
        yield f"{lost[0].prefix} ({lost[0].service}) lies in no block of {AMAZON}, as all others do"
    for entry, outer in found:
        if outer is not None and _place(outer) != _place(entry):
            around_it = f"{outer.prefix} around it in {_words(_place(outer))}"
            yield f"{entry.prefix} ({entry.service}) is in {_words(_place(entry))}, and {around_it}"


def _place(entry: RangeEntry) -> tuple[str | None, str | None]:
    return entry.region_as_published, entry.border_group


def _around(prefix: str, around: dict[_Key, RangeEntry]) -> RangeEntry | None:
    family, first, length = read_prefix(prefix)
    bits = BITS[family]
    outer = ((family, first >> (bits - n) << (bits - n), n) for n in range(length, 0, -1))
    return next((around[key] for key in outer if key in around), None)


_Custom = Callable[[RangeFile], Iterator[str]]
# What lists without regions, and geofeeds of machines that stand in one city each, keep to.
_DISJOINT = (_repeats, _overlaps_anywhere)
_CUSTOMS: dict[str, tuple[_Custom, ...]] = {
    "aws": (_contradictions, _uncovered),
    "azure": (_overlaps_in_tags, _overlaps_of_regions, _strangers_of_regions),
    "google": (*_DISJOINT, _disorder),
    "oracle": _DISJOINT,
    "digitalocean": (_repeats, _contradictions),
    "linode": (*_DISJOINT, _contradictions),
    "cloudflare": _DISJOINT,
    "fastly": _DISJOINT,
    "akamai": _DISJOINT,
    "ibm": _DISJOINT,
}
