"""Internationalised domain names (UTS 46, RFC 5891): text of any script to ASCII labels.

Domain lists and imported host names share these rules; the rules of labels are those of IDNA.
"""

import re
import unicodedata
from functools import lru_cache

import ada_url
import idna
from idna.idnadata import codepoint_classes
from idna.intranges import intranges_contain

from core.errors import BadInput

MAX_NAME = 253
MAX_LABEL = 63
# Characters of a rejected text that are quoted in the reason.
_SHOWN = 80
_PLAIN_LABEL = re.compile(r"(?!..--)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
# Maximum number of characters with cached properties; there are over a million.
_MOST_KNOWN = 20_000


def to_ascii(host: str) -> str:
    """The ASCII form of an international name (UTS 46); raises ``BadInput`` where there is none."""
    if host.isascii():
        return host
    _check_length(host)
    try:
        return _encode_plain(host) or idna.encode(host, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError) as error:
        raise BadInput(f"is not a valid international name: {str(error)[:_SHOWN]}") from error


class _Mapping(dict[int, str]):
    """UTS 46 replacements of characters, each read from the tables once."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        found = self[code] = idna.uts46_remap(chr(code), std3_rules=False)
        return found


class _Directions(dict[str, str]):
    """Writing directions of characters that are valid in every context; "" for all others."""

    def __missing__(self, character: str) -> str:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        found = self[character] = _direction_of(character)
        return found


def _direction_of(character: str) -> str:
    """Return the direction ``R`` or ``L`` (also for neutral characters), or "" (RFC 5893)."""
    kind = unicodedata.bidirectional(character)
    if kind in ("", "AN") or not intranges_contain(ord(character), codepoint_classes["PVALID"]):
        return ""
    return "R" if kind in ("R", "AL") else "L"


_MAPPING, _DIRECTIONS = _Mapping(), _Directions()
_WRITTEN_ONE_WAY = ({"L"}, {"R"})
# Characters from left to right that UTS 46 leaves as they are and that may begin a label, and dots.
_UNCHANGED = set("abcdefghijklmnopqrstuvwxyz0123456789-.")
# An empty label, or a hyphen where a label may have none.
_MISPLACED = re.compile(r"(?:^|\.)(?:-|\.|$|[^.]{2}--)|-\.|-$")


def _encode_plain(host: str) -> str:
    """What ``idna.encode`` gives, for names with labels that need no contextual rule; else "".

    ``idna`` looks each character of each name up in its tables, which takes longer than all else
    in the reading of a list.
    """
    if not _UNCHANGED.issuperset(host):
        host = unicodedata.normalize("NFC", host.translate(_MAPPING))
        if not all(map(_has_one_direction, host.split("."))):
            return ""
    if _MISPLACED.search(host):
        return ""
    found: str = ada_url.idna.encode(host).decode("ascii")
    is_short = len(found) <= MAX_NAME and max(map(len, found.split("."))) <= MAX_LABEL
    return found if is_short else ""


# Names of a list share their top-level domains.
@lru_cache(2**10)
def _has_one_direction(label: str) -> bool:
    """Whether all characters are valid in every context, and written in the same direction."""
    if label.isascii():
        return bool(_PLAIN_LABEL.fullmatch(label))
    directions = {_DIRECTIONS[character] for character in label}
    if len(_UNCHANGED) < _MOST_KNOWN and directions == {"L"}:
        _UNCHANGED.update(c for c in label if _MAPPING[ord(c)] == c and not _is_mark(c))
    return directions in _WRITTEN_ONE_WAY and not _is_mark(label[0])


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def check_name(host: str, label: re.Pattern[str]) -> str:
    """The name itself where it is one, each label as the pattern has it; raises ``BadInput``."""
    if not host:
        raise BadInput("holds no name")
    _check_length(host)
    labels = host.split(".")
    if len(labels) < 2:
        raise BadInput("has no dot; write a whole domain such as example.com")
    for text in labels:
        if not label.fullmatch(text):
            raise BadInput(_explain(text))
    if labels[-1].isdigit():
        raise BadInput("ends in a number, which no top-level domain does")
    return host


def _check_length(host: str) -> None:
    if len(host) > MAX_NAME:
        raise BadInput(f"is {len(host)} characters long; a name has at most {MAX_NAME}")


def _explain(label: str) -> str:
    if not label:
        return "has an empty label (two dots in a row)"
    if len(label) > MAX_LABEL:
        return f"has a label of {len(label)} characters; a label has at most {MAX_LABEL}"
    if "*" in label:
        return "has a wildcard that is not its first label"
    return f"has the label {label[:MAX_LABEL]!r}, which is not letters, digits and hyphens"
