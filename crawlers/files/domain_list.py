"""Parse domain lists: clean entries, and one reason for each part that cannot be used."""

import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address

from core.errors import BadInput
from core.files import PlainReader
from core.records import DomainEntry, Rejection
from crawlers.dns.idna import MAX_NAME, check_name, to_ascii

MAX_LIST_BYTES = 32 * 1024 * 1024
# Text further right in a line describes the name that it begins with; and no URL is longer.
MAX_LINE, MAX_CELL = 100_000, 8_000
# Rejections are shown to a person; past this many only their number is kept.
KEPT_REJECTIONS = 1_000
# Maximum number of lines with a kept outcome, for repetitions.
_KEPT_LINES = 200_000
# Lines between two pauses: some milliseconds of work.
_PAUSE_LINES, _PAUSE_PARSED = 5_000, 250
_EMPTY = "the list is empty; put one domain on each line"
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")
# All labels, the last of which is not a number.
_NAME = re.compile(rf"(?:{_LABEL.pattern}\.)+(?![0-9]+$){_LABEL.pattern}")
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_ARRAY = re.compile(r"^\s*((var|let|const)\s+\w+\s*=|\w+\s*=|export\s+default)?\s*\[")
# A name or nearly one: no URL, list of cells, comment, port, wildcard or quotes.
_BARE = re.compile(r"[^\s,;#\"'/?\\@:\[\]*]+")
_UNDECODED = re.compile("[\udc80-\udcff]")
_SEPARATOR = re.compile(r"[,;\t]|\s+")
_RANK = re.compile(r"[0-9]{1,12}")
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
    host = text.strip()
    if not _BARE.fullmatch(host):
        host = _SCHEME.sub("", host.strip("\"'"))
        host = re.split(r"[/?#\\]", host, maxsplit=1)[0].rpartition("@")[2]
    if host.startswith("[") or _is_address(host) or _is_address(host.rpartition(":")[0]):
        raise BadInput("is an IP address, not a domain name")
    if ":" in host:
        host = re.sub(r":\d*$", "", host)
    host = to_ascii(host.removeprefix("*.").rstrip(".").lower())
    if _NAME.fullmatch(host) and len(host) <= MAX_NAME:
        return host
    return check_name(host, _LABEL)


def _is_address(text: str) -> bool:
    if ":" not in text and not text.rstrip("]")[-1:].isdigit():
        return False  # decides most names at once
    try:
        ip_address(text.strip("[]"))
    except ValueError:
        return False
    return True


class TooManyDomains(BadInput):
    """The list holds more domains than its reader takes."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How much of a list is read at most, so that its cost follows what is accepted.

    ``pause`` is called after every few lines; what it raises ends the reading.
    """

    domains: int
    pause: Callable[[], None] = field(default=lambda: None)

    @property
    def lines(self) -> int:
        """Lines of any content."""
        return 5 * self.domains + 10_000

    @property
    def parsed(self) -> int:
        """Lines that are parsed, since they are not repetitions."""
        return 2 * self.domains + 1_000


def read_domain_list(data: bytes, limit: Limit | None = None) -> DomainList:
    """Read a domain list in any of the usual forms.

    One name a line, ``rank,domain`` or ``domain,url`` with or without a header, comments, or a
    JSON or JavaScript array over many lines; UTF-8, UTF-16 with a mark, gzip. Ranks are the
    list's own where it has them, else the position. Raises ``BadInput`` when the whole input is
    unusable or over the limit; otherwise each unusable part is one rejection and the rest is read.
    """
    head, text = _open_text(data)
    is_array = bool(_ARRAY.match(head))
    reading = _ListReader(limit, _Cells(is_array, head))
    with text:
        lines = enumerate(_lines(text), 1)
        for number, line in _quoted(lines) if is_array else lines:
            reading.read_line(number, line)
    return reading.finish()


def read_text(data: bytes, most_bytes: int | None = None) -> str:
    """The text of a list, unpacked and decoded; raises ``BadInput`` where it is none."""
    text = _open_text(data, most_bytes or MAX_LIST_BYTES)[1].read()
    if not text.strip():
        raise BadInput(_EMPTY)
    return text


def _open_text(data: bytes, most_bytes: int = MAX_LIST_BYTES) -> tuple[str, io.TextIOWrapper]:
    """The first characters of a list, and all of it to be read once."""
    if len(data) > most_bytes:
        raise BadInput(
            f"the list is {len(data) / 2**20:,.0f} MiB; at most {most_bytes // 2**20} MiB "
            "are read: split it, or keep one column"
        )
    head = PlainReader(io.BytesIO(data), most_bytes).read(4096)
    if not data.strip():
        raise BadInput(_EMPTY)
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    if encoding != "utf-16":
        _refuse_binary(head)
    plain = io.BufferedReader(PlainReader(io.BytesIO(data), most_bytes))
    text = io.TextIOWrapper(plain, encoding, "surrogateescape", newline="")
    return head.decode(encoding, "ignore"), text


def _refuse_binary(head: bytes) -> None:
    if head.startswith(b"PK\x03\x04"):
        raise BadInput("this is a zip or spreadsheet file; export it as CSV or plain text")
    control = sum(byte < 9 or 13 < byte < 32 for byte in head)
    if b"\0" in head or control > len(head) // 50:
        raise BadInput("this is a binary file, not a list of domains; use plain text or CSV")


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    """Lines without their ends; raises ``BadInput`` where the encoding is damaged."""
    try:
        for line in text:
            yield from line.splitlines()
    except UnicodeDecodeError as error:
        raise BadInput(f"the list is damaged UTF-16: {error}") from error


def _quoted(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    for number, line in lines:
        for match in _QUOTED.finditer(line):
            yield number, match[1] or match[2] or ""


class _Cells:
    """Splits lines into a rank, where there is one, and cells."""

    def __init__(self, is_array: bool, head: str) -> None:
        self._is_array = is_array
        self._is_majestic = head[: len(_MAJESTIC_HEAD)].lower() == _MAJESTIC_HEAD

    def of(self, number: int, line: str) -> tuple[int | None, list[str]]:
        """The rank and the cells of one line; no cells where it holds nothing."""
        if self._is_array or (number > 1 and _BARE.fullmatch(line)):
            return None, [line]
        plain = line.split("#")[0] if line.lstrip().startswith("#") else line[:MAX_LINE]
        cells = [c.strip().strip("\"'") for c in _SEPARATOR.split(plain.strip())]
        cells = [c for c in cells if c]
        if not cells or (number == 1 and (self._is_majestic or _is_header(cells))):
            return None, []
        if self._is_majestic:
            cells = [cells[0], *cells[2:3]]
        rank = int(cells[0]) if len(cells) > 1 and _RANK.fullmatch(cells[0]) else None
        return rank, cells[1:] if rank is not None else cells


def _is_header(cells: list[str]) -> bool:
    return all(cell.lower() in _HEADER_WORDS for cell in cells)


@dataclass(slots=True)
class _ListReader:
    """What has been read so far."""

    limit: Limit | None
    cells: _Cells
    entries: dict[str, DomainEntry] = field(default_factory=dict)
    rejected: list[Rejection] = field(default_factory=list)
    n_rejected: int = 0
    duplicates: int = 0
    changed: int = 0
    n_lines: int = 0
    n_parsed: int = 0
    # Raw lines: a repeated one is not parsed again. "" where one was accepted.
    reasons: dict[str, str] = field(default_factory=dict)

    def read_line(self, number: int, line: str) -> None:
        self.n_lines += 1
        reason = self.reasons.get(line)
        if self.limit is not None and self.n_lines % _PAUSE_LINES == 0:
            self._stop_or_pause(self.limit)
        if reason is None:
            self._parse(number, line)
            if self.limit is not None and self.n_parsed % _PAUSE_PARSED == 0:
                self._stop_or_pause(self.limit)
        elif reason:
            self._reject(number, line, reason)
        else:
            self.duplicates += 1

    def _stop_or_pause(self, limit: Limit) -> None:
        limit.pause()
        if len(self.entries) > limit.domains:
            raise TooManyDomains(f"the list holds more than {limit.domains:,} domains")
        most = limit.lines if self.n_lines > limit.lines else limit.parsed
        if self.n_lines > limit.lines or self.n_parsed > limit.parsed:
            raise BadInput(
                f"the list goes on after {most:,} lines, in which there are "
                f"{len(self.entries):,} domains, {self.duplicates:,} repetitions and "
                f"{self.n_rejected:,} unusable lines: send the domains alone, each once"
            )

    def _parse(self, number: int, line: str) -> None:
        rank, cells = self.cells.of(number, line)
        if not cells:
            return
        self.n_parsed += 1
        reason = ""
        try:
            self._accept(number, rank, self._domain(cells))
        except BadInput as error:
            reason = str(error)
            self._reject(number, cells[0], reason)
        if len(self.reasons) < _KEPT_LINES:
            self.reasons[line] = reason

    def _accept(self, number: int, rank: int | None, domain: str) -> None:
        if domain in self.entries:
            self.duplicates += 1
            return
        position = len(self.entries) + 1
        self.entries[domain] = DomainEntry(domain, position if rank is None else rank, number)

    def _domain(self, cells: list[str]) -> str:
        # The first cell is the domain; later columns (a URL, a count) only repeat or describe it.
        text = cells[0]
        if len(text) > MAX_CELL:
            raise BadInput("is longer than any name or URL")
        if not text.isascii() and _UNDECODED.search(text):
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
        if self.limit is not None:
            self._stop_or_pause(self.limit)
        if not self.entries and not self.n_rejected:
            raise BadInput(_EMPTY)
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
