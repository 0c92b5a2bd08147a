"""Parse zone files (RFC 1035 section 5) by blocks of lines: owners of addresses and aliases.

Unlike a name server, which refuses a whole file, the parser reports each bad entry and continues.
dnspython parses unusual entries.
"""

import re
from collections.abc import Iterable, Iterator

import dns.exception
import dns.ipv4
import dns.ipv6
import dns.name
import dns.rdataclass
import dns.rdatatype
import dns.tokenizer
import dns.zonefile

from crawlers.sources.lists.line_blocks import Block
from crawlers.sources.lists.list_formats import Found

# An entry in parentheses that continues for longer was never closed.
MAX_ENTRY_LINES = 1_000
# One $GENERATE line may stand for this many records.
MAX_GENERATED = 65_536
_CLASSES = frozenset({"IN", "CH", "HS", "CS"})
_TTL = re.compile(r"(\d+[SMHDW]?)+", re.IGNORECASE)
_WANTED = frozenset({"A", "AAAA", "CNAME"})
_ODD = re.compile(rb'[()";\\]')
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})(?:/(\d{1,9}))?")
_LINE_END_TYPES = (dns.tokenizer.EOL, dns.tokenizer.EOF)


class ZoneFile:
    """Owners with an A, AAAA or CNAME record; ``origin`` completes relative names at first."""

    def __init__(self, origin: str = "") -> None:
        self._origin = origin.strip(".").lower()
        self._has_origin = bool(self._origin)
        self._owner = ""
        # Lines of an entry with open parentheses.
        self._open: list[bytes] = []
        self._open_line = 0
        self._depth = 0

    def read(self, block: Block) -> Iterator[Found]:
        """Owners in the lines of one block, and entries that are wrong with their reasons."""
        for number, raw in enumerate(block.data.split(b"\n"), block.line):
            line = raw.rstrip(b"\r")
            if not self._open and not _ODD.search(line):
                words = line.decode("utf-8", "replace").split()
                if words:
                    yield from self._entry(number, words, blank=line[:1].isspace())
                continue
            yield from self._collect(number, line)

    def finish(self) -> Iterable[Found]:
        """An entry that was never closed."""
        if self._open:
            yield self._reject_entry()

    def _reject_entry(self) -> Found:
        text = self._open[0][:100].decode("utf-8", "replace")
        line, self._open, self._depth = self._open_line, [], 0
        return Found(line, text, "has a parenthesis that is not closed")

    def _collect(self, number: int, line: bytes) -> Iterator[Found]:
        if not self._open:
            self._open_line = number
        self._open.append(line)
        self._depth += _count_parentheses(line)
        if self._depth > 0:
            if len(self._open) > MAX_ENTRY_LINES:
                yield self._reject_entry()
            return
        text = b"\n".join(self._open).decode("utf-8", "replace")
        first, self._open, self._depth = self._open_line, [], 0
        try:
            words = _tokenize(text)
        except dns.exception.DNSException as error:
            yield Found(first, text[:100], f"is no zone file entry: {error}")
            return
        if words:
            yield from self._entry(first, words, blank=text[:1].isspace())

    def _entry(self, number: int, words: list[str], *, blank: bool) -> Iterator[Found]:
        if words[0].startswith("$") and not blank:
            yield from self._direct(number, words)
            return
        try:
            yield from self._record(number, words, blank)
        except (dns.exception.DNSException, ValueError) as error:
            yield Found(number, " ".join(words)[:100], f"is no zone file entry: {error}")

    def _record(self, number: int, words: list[str], blank: bool) -> Iterator[Found]:
        rest = iter(words if blank else words[1:])
        if not blank:
            self._owner = words[0]
        elif not self._owner:
            raise ValueError("there is no owner before")
        rrclass, rrtype = "IN", ""
        for word in rest:
            upper = word.upper()
            if upper in _CLASSES:
                rrclass = upper
            elif not _TTL.fullmatch(word):
                rrtype = upper
                break
        if rrtype not in _WANTED:
            dns.rdatatype.from_text(rrtype)
            self._learn_origin(rrtype)
        elif rrclass == "IN":
            _check_data(rrtype, list(rest))
            yield self._name(number, self._owner)

    def _learn_origin(self, rrtype: str) -> None:
        if rrtype == "SOA" and not self._has_origin and self._owner.endswith("."):
            self._origin, self._has_origin = self._owner.strip(".").lower(), True

    def _name(self, number: int, owner: str) -> Found:
        if owner.endswith("."):
            return Found(number, owner)
        if not self._has_origin:
            return Found(number, owner, "is relative, and the file names no origin")
        if owner == "@":
            return Found(number, self._origin)
        return Found(number, f"{owner}.{self._origin}" if self._origin else owner)

    def _direct(self, number: int, words: list[str]) -> Iterator[Found]:
        directive = words[0].upper()
        if directive == "$ORIGIN" and len(words) > 1:
            found = self._name(number, words[1])
            if found.reason:
                yield found
            else:
                self._origin, self._has_origin = found.text.strip(".").lower(), True
        elif directive == "$GENERATE":
            yield from self._generate(number, words)
        elif directive != "$TTL":
            reason = "is not followed" if directive == "$INCLUDE" else "is no directive"
            yield Found(number, " ".join(words)[:100], reason)

    def _generate(self, number: int, words: list[str]) -> Iterator[Found]:
        line = " ".join(words)
        size = _generated_size(words[1] if len(words) > 1 else "")
        if not 0 < size <= MAX_GENERATED:
            yield Found(number, line[:100], f"does not stand for 1 to {MAX_GENERATED:,} records")
            return
        try:
            owners = _expand(line, self._origin)
        except (dns.exception.DNSException, ValueError) as error:
            yield Found(number, line[:100], f"is no $GENERATE line: {error}")
            return
        for owner in owners:
            yield Found(number, owner)


def _count_parentheses(line: bytes) -> int:
    """How many more are opened than closed, outside strings and comments."""
    depth, quoted, at = 0, False, 0
    for match in _ODD.finditer(line):
        if match.start() < at:
            continue
        mark = match[0]
        if mark == b"\\":
            at = match.end() + 1
        elif mark == b'"':
            quoted = not quoted
        elif mark == b";" and not quoted:
            break
        elif not quoted and mark in b"()":
            depth += 1 if mark == b"(" else -1
    return depth


def _tokenize(text: str) -> list[str]:
    tokens = dns.tokenizer.Tokenizer(text)
    words = []
    while not (token := tokens.get()).is_eof():
        if not token.is_eol():
            words.append(token.value)
    return words


def _check_data(rrtype: str, data: list[str]) -> None:
    if len(data) != 1:
        raise ValueError(f"{rrtype} has {len(data)} fields of data, not one")
    if rrtype == "A":
        dns.ipv4.inet_aton(data[0])
    elif rrtype == "AAAA":
        dns.ipv6.inet_aton(data[0])


def _generated_size(text: str) -> int:
    match = _RANGE.fullmatch(text)
    if not match:
        return 0
    return (int(match[2]) - int(match[1])) // max(1, int(match[3] or 1)) + 1


def _expand(line: str, origin: str) -> list[str]:
    zone = dns.name.from_text(origin + ".")
    manager = dns.zonefile.RRSetsReaderManager(zone, rdclass=dns.rdataclass.IN)
    with manager.writer(True) as transaction:  # type: ignore[no-untyped-call]
        reader = dns.zonefile.Reader(
            dns.tokenizer.Tokenizer(line),
            dns.rdataclass.IN,
            transaction,
            allow_directives=["$GENERATE"],
            default_ttl=0,
        )
        reader.read()
    return [s.name.to_text() for s in manager.rrsets if dns.rdatatype.to_text(s.rdtype) in _WANTED]
