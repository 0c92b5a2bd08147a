"""Domain lists as people have them, in; clean entries and one reason per unusable part, out."""

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address

from core.errors import BadInput
from core.records import DomainEntry, Rejection
from crawlers.spelling import check_name, to_ascii

MAX_LIST_BYTES = 32 * 1024 * 1024
# What stands further right in a line describes the name that it begins with; and no URL is longer.
MAX_LINE, MAX_CELL = 100_000, 8_000
# Rejections are shown to a person; past this many only their number is kept.
KEPT_REJECTIONS = 1_000
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_ARRAY = re.compile(r"^\s*((var|let|const)\s+\w+\s*=|\w+\s*=|export\s+default)?\s*\[")
_QUOTED = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'")
_HEADER_WORDS = {"domain", "domains", "rank", "url", "name", "host", "hostname", "site", "website"}
_HEADER_WORDS |= {"origin"}
# The Majestic Million has two ranks before the domain, and much behind it.
_MAJESTIC_HEAD = "globalrank,tldrank,domain,"


@dataclass(frozen=True, slots=True)
class DomainList:
    """A read list: accepted entries in order, what was refused, and what was changed."""

    entries: tuple[DomainEntry, ...]
    rejected: tuple[Rejection, ...]
    duplicates: int = 0
    notes: tuple[str, ...] = ()
    n_rejected: int = 0


def normalise_domain(text: str) -> str:
    """A domain name in lower-case ASCII from what a person wrote; raises ``BadInput``.

    Takes off a URL's scheme, user, port and path, a leading ``*.`` and the final dot; turns
    international names into their ASCII form (UTS 46).
    """
    host = _SCHEME.sub("", text.strip().strip("\"'"))
    host = re.split(r"[/?#\\]", host, maxsplit=1)[0].rpartition("@")[2]
    if host.startswith("[") or _is_address(host) or _is_address(host.rpartition(":")[0]):
        raise BadInput("is an IP address, not a domain name")
    host = re.sub(r":\d*$", "", host).removeprefix("*.").rstrip(".").lower()
    return check_name(to_ascii(host), _LABEL)


def _is_address(text: str) -> bool:
    if ":" not in text and not text.rstrip("]")[-1:].isdigit():
        return False  # what most names are told by at once
    try:
        ip_address(text.strip("[]"))
    except ValueError:
        return False
    return True


def read_domain_list(data: bytes) -> DomainList:
    """Read a domain list in any of the usual forms.

    One name a line, ``rank,domain`` or ``domain,url`` with or without a header, comments, or a
    JSON or JavaScript array over many lines; UTF-8, UTF-16 with a mark, gzip. Ranks are the
    list's own where it has them, else the position. Raises ``BadInput`` when the whole input is
    unusable; otherwise each unusable part is one rejection and the rest goes on.
    """
    text = read_text(data)
    reading = _Reading()
    parts = _array_parts(text) if _ARRAY.match(text) else _line_parts(text)
    for line, rank, cells in parts:
        reading.take(line, rank, cells)
    return reading.finish()


def read_text(data: bytes) -> str:
    """The text of a list, unpacked and decoded; raises ``BadInput`` where it is none."""
    return _decode(_unpack(data))


def _unpack(data: bytes) -> bytes:
    if len(data) > MAX_LIST_BYTES:
        raise BadInput(
            f"the list is {len(data) / 2**20:,.0f} MiB; at most {MAX_LIST_BYTES // 2**20} MiB "
            "are read: split it, or keep one column"
        )
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        # Bounded, so that a small file cannot unpack into all the memory there is.
        plain = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MAX_LIST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"the gzip file is damaged: {error}") from error
    if len(plain) > MAX_LIST_BYTES:
        raise BadInput(f"the gzip file unpacks to more than {MAX_LIST_BYTES // 2**20} MiB")
    return plain


def _decode(data: bytes) -> str:
    if not data.strip():
        raise BadInput("the list is empty; put one domain on each line")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError as error:
            raise BadInput(f"the list is damaged UTF-16: {error}") from error
    if data.startswith(b"PK\x03\x04"):
        raise BadInput("this is a zip or spreadsheet file; export it as CSV or plain text")
    sample = data[:4096]
    control = sum(byte < 9 or 13 < byte < 32 for byte in sample)
    if b"\0" in sample or control > len(sample) // 50:
        raise BadInput("this is a binary file, not a list of domains; use plain text or CSV")
    return data.decode("utf-8-sig", "surrogateescape")


_Parts = Iterator[tuple[int, int | None, list[str]]]


def _array_parts(text: str) -> _Parts:
    for number, line in enumerate(text.split("\n"), 1):
        for match in _QUOTED.finditer(line):
            yield number, None, [match[1] or match[2] or ""]


def _line_parts(text: str) -> _Parts:
    is_majestic = text[: len(_MAJESTIC_HEAD)].lower() == _MAJESTIC_HEAD
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.split("#")[0] if line.lstrip().startswith("#") else line[:MAX_LINE]
        cells = [c.strip().strip("\"'") for c in re.split(r"[,;\t]|\s+", plain.strip())]
        cells = [c for c in cells if c]
        if not cells or (number == 1 and (is_majestic or _is_header(cells))):
            continue
        if is_majestic:
            cells = [cells[0], *cells[2:3]]
        rank = int(cells[0]) if len(cells) > 1 and re.fullmatch(r"[0-9]{1,12}", cells[0]) else None
        yield number, rank, cells[1:] if rank is not None else cells


def _is_header(cells: list[str]) -> bool:
    return all(cell.lower() in _HEADER_WORDS for cell in cells)


@dataclass(slots=True)
class _Reading:
    """What has been read so far."""

    entries: dict[str, DomainEntry] = field(default_factory=dict)
    rejected: list[Rejection] = field(default_factory=list)
    n_rejected: int = 0
    duplicates: int = 0
    changed: int = 0

    def take(self, line: int, rank: int | None, cells: list[str]) -> None:
        try:
            domain = self._domain(cells)
        except BadInput as error:
            self._reject(line, cells[0], str(error))
            return
        if domain in self.entries:
            self.duplicates += 1
            return
        position = len(self.entries) + 1
        self.entries[domain] = DomainEntry(domain, position if rank is None else rank, line)

    def _domain(self, cells: list[str]) -> str:
        # The first cell is the domain; later columns (a URL, a count) only repeat or describe it.
        text = cells[0]
        if len(text) > MAX_CELL:
            raise BadInput("is longer than any name or URL")
        if not text.isascii() and any("\udc80" <= c <= "\udcff" for c in text):
            raise BadInput("is not UTF-8; save the list as UTF-8")
        domain = normalise_domain(text)
        self.changed += domain != text.strip().lower()
        return domain

    def _reject(self, line: int, text: str, reason: str) -> None:
        self.n_rejected += 1
        if len(self.rejected) < KEPT_REJECTIONS:
            shown = text[:100].encode("utf-8", "replace").decode("utf-8")
            self.rejected.append(Rejection(line, shown, reason))

    def finish(self) -> DomainList:
        if not self.entries:
            first = self.rejected[0] if self.rejected else None
            detail = f"; line {first.line}: {first.text!r} {first.reason}" if first else ""
            raise BadInput(f"the list holds no usable domain{detail}")
        notes = []
        if self.changed:
            entries = "1 entry was" if self.changed == 1 else f"{self.changed:,} entries were"
            notes.append(f"{entries} cleaned (URL, wildcard, case or script)")
        if self.duplicates:
            one = self.duplicates == 1
            repeated = (
                "1 repeated domain was" if one else f"{self.duplicates:,} repeated domains were"
            )
            notes.append(f"{repeated} counted once")
        return DomainList(
            tuple(self.entries.values()),
            tuple(self.rejected),
            self.duplicates,
            tuple(notes),
            self.n_rejected,
        )
