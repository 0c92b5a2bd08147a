"""One publication, two files: what a copy says that the file in force does not.

In go both files, read and raw; out comes the first difference in words, or that there is none.
"""

import json
from itertools import zip_longest

from cartography.ranges.gzip_file import unpack
from cartography.ranges.range_file import RangeEntry, RangeFile
from core.providers import PROVIDER_BY_ID


def is_same_publication(new: RangeFile, old: RangeFile) -> bool:
    """Whether both say that they are one publication of one provider."""
    if new.edition or old.edition:
        same = new.edition == old.edition
        return same or (not PROVIDER_BY_ID[new.provider].has_edition and new.as_of == old.as_of)
    return new.as_of == old.as_of


def has_same_content(new: bytes, old: bytes) -> bool:
    """Whether two files differ in nothing but packing and white space."""
    return new == old or _canonical(new) == _canonical(old)


def describe_difference(new: RangeFile, old: RangeFile) -> str:
    """What two files of one publication tell differently, the first row of all."""
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
