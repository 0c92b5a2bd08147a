"""Check what all sound files of a provider have in common.

``fixtures/providers.toml`` names the rules of each provider. They held in thousands of published
files, and one changed digit often breaks one: a file that breaks a rule is damaged, or the provider
has changed its publication. See ``docs/methods/ranges.md``.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from cartography.addresses.prefixes import BITS, read_prefix
from cartography.ranges.range_file import RangeEntry, RangeFile
from core.providers import PROVIDER_BY_ID

AMAZON = "AMAZON"
AZURE = "AzureCloud"
# Up to this share of rows outside AMAZON's blocks count as damage.
_DAMAGED_SHARE = 0.01
_Key = tuple[int, int, int]


def find_violation(file: RangeFile) -> str | None:
    """Describe the first violation of its provider's rules; return ``None`` for a sound file."""
    rules = PROVIDER_BY_ID[file.provider].sanity_rules
    return next((violation for name in rules for violation in RULES[name](file)), None)


def _find_overlaps(file: RangeFile, group: Callable[[RangeEntry], Hashable]) -> Iterator[str]:
    """Find overlapping prefixes of one group; rows of one block with several tags count once."""
    groups: dict[Hashable, set[tuple[_Key, str]]] = defaultdict(set)
    for entry in file.entries:
        place = f" ({entry.region_as_published})" if entry.region_as_published else ""
        groups[group(entry)].add((read_prefix(entry.prefix), entry.prefix + place))
    for rows in groups.values():
        for (inner, outer_text), (key, text) in pairwise(sorted(rows)):
            family, first, length = inner
            if family == key[0] and key[1] < first + (1 << (BITS[family] - length)):
                yield f"{outer_text} and {text} overlap, as none of its prefixes do"


def _check_unique_rows(file: RangeFile) -> Iterator[str]:
    """Find repeated rows; Amazon and Microsoft have published such."""
    seen: set[RangeEntry] = set()
    for entry in file.entries:
        if entry in seen:
            yield f"{entry.prefix} ({entry.region_as_published or entry.service}) is listed twice"
        seen.add(entry)


def _check_disjoint(file: RangeFile) -> Iterator[str]:
    """Find prefixes that overlap anywhere in the file."""
    # Google's own addresses name no places: an overlap among them contradicts nothing.
    return iter(()) if file.variant == "goog" else _find_overlaps(file, lambda entry: None)


def _check_disjoint_tags(file: RangeFile) -> Iterator[str]:
    """Find prefixes that overlap within one service and region."""
    return _find_overlaps(file, lambda entry: (entry.service, entry.region_as_published))


def _check_disjoint_regions(file: RangeFile) -> Iterator[str]:
    """Find blocks that two regions share; those of services in them may overlap."""
    rows = _rows(file, AZURE, is_regional=True)
    return _find_overlaps(RangeFile(file.provider, file.as_of, rows), lambda entry: None)


def _rows(file: RangeFile, service: str, *, is_regional: bool) -> tuple[RangeEntry, ...]:
    return tuple(
        e
        for e in file.entries
        if e.service == service and bool(e.region_as_published) == is_regional
    )


def _check_regions_in_collective_tag(file: RangeFile) -> Iterator[str]:
    """Find prefixes of a region that the collective tag lacks."""
    whole = {entry.prefix for entry in _rows(file, AZURE, is_regional=False)}
    for entry in _rows(file, AZURE, is_regional=True) if whole else ():
        if entry.prefix not in whole:
            yield f"{entry.prefix} is in AzureCloud.{entry.region_as_published}, not in AzureCloud"


def _check_one_place_per_prefix(file: RangeFile) -> Iterator[str]:
    """Find prefixes with two places; every service of a prefix names the same one."""
    place: dict[str, tuple[str | None, str | None]] = {}
    for entry in file.entries:
        published = (entry.region_as_published, entry.border_group)
        known = place.setdefault(entry.prefix, published)
        if known != published:
            yield f"{entry.prefix} is in {_words(known)} and in {_words(published)}"


def _words(place: Sequence[str | None]) -> str:
    return " ".join(dict.fromkeys(part for part in place if part)) or "no region"


def _check_sorted_regions(file: RangeFile) -> Iterator[str]:
    """Find rows of a region that are not in the order of their addresses."""
    keyed = ((e.service, e.region_as_published, ":" in e.prefix) for e in file.entries)
    rows = zip(keyed, file.entries, strict=True)
    for _, group in groupby(rows, key=lambda row: row[0]):
        yield from _find_unsorted(entry.prefix for _, entry in group)


def _find_unsorted(prefixes: Iterable[str]) -> Iterator[str]:
    for (key, text), (after, next_text) in pairwise((read_prefix(p), p) for p in prefixes):
        if after < key:
            yield f"{next_text} follows {text}, while all others are in order"


def _check_covered_by_collective(file: RangeFile) -> Iterator[str]:
    """Find rows of a service outside the rows of AMAZON with the same place."""
    around = {read_prefix(e.prefix): e for e in file.entries if e.service == AMAZON}
    found = [(e, _find_enclosing(e.prefix, around)) for e in file.entries if e.service != AMAZON]
    lost = [entry for entry, outer in found if outer is None]
    # Where many are outside, Amazon has changed what it publishes.
    if 0 < len(lost) <= len(file.entries) * _DAMAGED_SHARE:
        yield f"{lost[0].prefix} ({lost[0].service}) is in no block of {AMAZON}, unlike all others"
    for entry, outer in found:
        if outer is not None and _place(outer) != _place(entry):
            around_it = f"{outer.prefix} around it in {_words(_place(outer))}"
            yield f"{entry.prefix} ({entry.service}) is in {_words(_place(entry))}, and {around_it}"


def _place(entry: RangeEntry) -> tuple[str | None, str | None]:
    return entry.region_as_published, entry.border_group


def _find_enclosing(prefix: str, around: dict[_Key, RangeEntry]) -> RangeEntry | None:
    family, first, length = read_prefix(prefix)
    bits = BITS[family]
    outer = ((family, first >> (bits - n) << (bits - n), n) for n in range(length, 0, -1))
    return next((around[key] for key in outer if key in around), None)


Rule = Callable[[RangeFile], Iterator[str]]
RULES: dict[str, Rule] = {
    "unique_rows": _check_unique_rows,
    "disjoint": _check_disjoint,
    "disjoint_tags": _check_disjoint_tags,
    "disjoint_regions": _check_disjoint_regions,
    "regions_in_collective_tag": _check_regions_in_collective_tag,
    "one_place_per_prefix": _check_one_place_per_prefix,
    "sorted_regions": _check_sorted_regions,
    "covered_by_collective": _check_covered_by_collective,
}
