"""Compare two files of one publication: find the first row in which they differ."""

import json
from itertools import zip_longest

from cartography.ranges.gzip_file import unpack
from cartography.ranges.range_file import RangeEntry, RangeFile
from core.providers import PROVIDER_BY_ID


def is_same_publication(new: RangeFile, old: RangeFile) -> bool:
    """Return whether both files state the same publication of a provider."""
    if new.edition or old.edition:
        same = new.edition == old.edition
        return same or (not PROVIDER_BY_ID[new.provider].has_edition and new.as_of == old.as_of)
    return new.as_of == old.as_of


def has_same_content(new: bytes, old: bytes) -> bool:
    """Return whether two files differ only in compression and white space."""
    return new == old or _canonical(new) == _canonical(old)


def describe_difference(new: RangeFile, old: RangeFile) -> str:
    """Describe the first row in which two files of one publication differ."""
    rows = zip_longest(new.entries, old.entries)
    for number, (now, was) in enumerate(rows, 1):
        if now != was:
            return f"row {number} is {_words(now)} here and {_words(was)} there"
    return "the rows are the same, and the rest of the file is not"


def _words(entry: RangeEntry | None) -> str:
    if entry is None:
        return "missing"
    parts = (entry.prefix, entry.service, entry.region_as_published, entry.border_group)
    return " ".join(dict.fromkeys(part for part in parts if part))


def _canonical(data: bytes) -> str:
    text = unpack(data).decode("utf-8-sig", "surrogateescape")
    if text.lstrip().startswith("{"):
        return json.dumps(json.loads(text), sort_keys=True)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
