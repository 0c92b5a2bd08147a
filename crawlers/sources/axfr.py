"""One zone transfer as it streams in: bytes go in, names and a status come out.

No socket is touched here. Every byte is hostile: each record is checked for its bounds, and only
owners of addresses and aliases are kept, so a transfer costs what its names cost.
"""

import re
import struct
from dataclasses import dataclass

from core.statuses import DnsStatus
from crawlers import wire
from crawlers.labels import Names
from crawlers.wire import Malformed

# Real zones that give themselves away are far smaller; the bounds only end endless streams.
MAX_RECORDS = 500_000
MAX_OCTETS = 256 * 1024 * 1024
BUDGET = "BUDGET"
_STATUS_BY_RCODE = {
    1: DnsStatus.FORMERR,
    2: DnsStatus.SERVFAIL,
    3: DnsStatus.NXDOMAIN,
    4: DnsStatus.NOTIMP,
    5: DnsStatus.REFUSED,
    9: DnsStatus.REFUSED,  # NOTAUTH
}
_HEADER = struct.Struct("!HHHH")
_FIXED = struct.Struct("!HHIH")
_POINTER = 0xC000
_CNAME, _SOA = 5, 6
# Bytes of a record that only then is an address.
_ADDRESS_OCTETS = {1: 4, 28: 16}
_JUDGED = frozenset({*_ADDRESS_OCTETS, _CNAME, _SOA})
_SOA_NUMBERS_OCTETS = 20
# Printable, and neither an escape (such a name cannot be asked) nor a wildcard.
_ASKABLE = re.compile(r"[!-)+-\[\]-~]+")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of one transfer is taken."""

    records: int = MAX_RECORDS
    octets: int = MAX_OCTETS


class Feed:
    """Reads one transfer; ``status`` is empty until it is known, then final.

    ``records`` counts what was read, ``wildcard`` says that one of them was a wildcard.
    """

    __slots__ = (
        "_buffer",
        "_limits",
        "_octets",
        "_owners",
        "_query_id",
        "_question",
        "_serial",
        "records",
        "status",
        "wildcard",
        "zone",
    )

    def __init__(self, zone: str, query_id: int, limits: Limits | None = None) -> None:
        self.zone = zone
        self.status = ""
        self.records = 0
        self.wildcard = False
        self._limits = limits or Limits()
        self._query_id = query_id
        self._question = wire.encode_question(zone, "AXFR")
        self._buffer = b""
        self._owners: dict[str, None] = {}
        self._octets = 0
        # The numbers of the first SOA; the same ones again end the transfer (RFC 5936, 2.2).
        self._serial = b""

    @property
    def query(self) -> bytes:
        """The question as it goes onto the stream."""
        # No recursion is desired: the server has the zone, or it does not.
        message = struct.pack("!6H", self._query_id, 0, 1, 0, 0, 0) + self._question
        return struct.pack("!H", len(message)) + message

    @property
    def names(self) -> tuple[str, ...]:
        """Names below or at the zone with an address or alias, in the zone's order, so far.

        A transfer may hold glue and forged names outside its zone: they say nothing about it.
        """
        below, askable = "." + self.zone, _ASKABLE.fullmatch
        return tuple(
            name
            for name in self._owners
            if (name.endswith(below) or name == self.zone) and askable(name)
        )

    def take(self, chunk: bytes) -> None:
        """Read what came; once ``status`` is set, the rest is ignored."""
        self._octets += len(chunk)
        data = self._buffer + chunk if self._buffer else chunk
        at = 0
        while not self.status and len(data) - at >= 2:
            end = at + 2 + (data[at] << 8 | data[at + 1])
            if end > len(data):
                break
            self._take_message(data[at + 2 : end])
            at = end
        self._buffer = data[at:]
        if not self.status and self._octets > self._limits.octets:
            self.status = BUDGET

    def end(self) -> None:
        """The server closed: what is not whole by now is cut."""
        if not self.status:
            seen = self._serial or self._buffer
            self.status = DnsStatus.TRUNCATED if seen else DnsStatus.REFUSED

    def _take_message(self, packet: bytes) -> None:
        try:
            self._read(packet)
        except (Malformed, IndexError, ValueError, struct.error):
            self.status = DnsStatus.MALFORMED

    def _read(self, packet: bytes) -> None:
        query_id, flags, n_questions, n_answers = _HEADER.unpack_from(packet)
        if query_id != self._query_id or not flags & 0x8000 or n_questions > 1:
            raise Malformed("a message that was not asked for")
        offset = 12
        if n_questions:
            offset += len(self._question)
            if packet[12:offset].lower() != self._question.lower():
                raise Malformed("a message that answers another question")
        if flags & 15:
            self.status = _STATUS_BY_RCODE.get(flags & 15, DnsStatus.OTHER)
            return
        self._read_records(packet, offset, n_answers)
        if not self._serial:
            # Servers say no in this way too: a message without records.
            self.status = DnsStatus.REFUSED
        elif not self.status and self.records > self._limits.records:
            self.status = BUDGET

    def _read_records(self, packet: bytes, offset: int, count: int) -> None:
        names, size, unpack = Names(packet), len(packet), _FIXED.unpack_from
        for _ in range(count):
            if self.status:
                raise Malformed("records behind the end of the zone")
            owner, offset = names.read(offset, size)
            code, rrclass, _, octets = unpack(packet, offset)
            offset += 10
            end = offset + octets
            if end > size:
                raise Malformed("record data runs past the message")
            if _ADDRESS_OCTETS.get(code) == octets and rrclass == 1 and self._serial:
                self._owners[owner] = None
            elif code in _JUDGED and rrclass == 1 or not self._serial:
                self._judge(names, owner, code, (offset, end))
            if owner[:2] == "*." and owner.endswith("." + self.zone):
                self.wildcard = True
            offset = end
        # A message without records counts as one, so that a stream of them ends too.
        self.records += count or 1

    def _judge(self, names: Names, owner: str, code: int, span: tuple[int, int]) -> None:
        """Records that are not simply kept or left out."""
        offset, end = span
        if code == _SOA and owner == self.zone:
            self._take_apex(names, offset, end)
        elif not self._serial:
            raise Malformed("a transfer that does not begin with its SOA")
        elif code in _ADDRESS_OCTETS:
            raise Malformed("an address of the wrong length")
        elif code == _CNAME:
            if names.read(offset, end)[1] != end:
                raise Malformed("an alias that does not fill its record")
            self._owners[owner] = None

    def _take_apex(self, names: Names, offset: int, end: int) -> None:
        for _ in range(2):
            _, offset = names.read(offset, end)
        numbers = names.packet[offset:end]
        if len(numbers) != _SOA_NUMBERS_OCTETS:
            raise Malformed("SOA numbers are not 20 bytes")
        if not self._serial:
            self._serial = numbers
        elif self._serial == numbers:
            self.status = "OK"
        else:
            raise Malformed("the zone changed within its transfer")
