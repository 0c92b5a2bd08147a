"""Parse one zone transfer (AXFR, RFC 5936) as it streams in: names, records on request, a status.

No socket is used here. Every byte is untrusted: each record is checked for its bounds, and only
owners of addresses, aliases and delegations are stored, so the cost follows the number of names.
"""

import re
import struct
from dataclasses import dataclass

from core.records import Record
from core.statuses import DnsStatus
from crawlers.dns import message as dns_message
from crawlers.dns.message import Malformed
from crawlers.dns.name_codec import Names
from crawlers.dns.rdata import WRITERS, find_writer
from crawlers.sources.tcp_pool import BUDGET, split_messages

# Real zones that give themselves away are far smaller; the bounds only end endless streams.
MAX_RECORDS = 500_000
MAX_OCTETS = 256 * 1024 * 1024
# Well-formed, but not what was requested: another zone, another id, or two zones mixed.
MISMATCH = "MISMATCH"
# Records out of the zone are not stored.
UNTRUSTED = frozenset({MISMATCH, str(DnsStatus.MALFORMED)})
STATUS_BY_RCODE = {
    1: DnsStatus.FORMERR,
    2: DnsStatus.SERVFAIL,
    3: DnsStatus.NXDOMAIN,
    4: DnsStatus.NOTIMP,
    5: DnsStatus.REFUSED,
    9: DnsStatus.REFUSED,  # NOTAUTH
}
_HEADER = struct.Struct("!HHHH")
_FIXED = struct.Struct("!HHIH")
# QR, and an opcode that is not zero.
_IS_REPLY, _OTHER_OPCODE = 0x8000, 0x7800
_NS, _CNAME, _SOA, _DNAME = 2, 5, 6, 39
# Bytes of a record that only then is an address.
_ADDRESS_OCTETS = {1: 4, 28: 16}
_JUDGED = frozenset({*_ADDRESS_OCTETS, _NS, _CNAME, _SOA, _DNAME})
_SOA_NUMBERS_OCTETS = 20
# Printable, and neither an escape (such a name cannot be queried) nor a wildcard.
_ASKABLE = re.compile(r"[!-)+-\[\]-~]+")
_FAULTS = (Malformed, IndexError, OSError, ValueError, struct.error)


class Mismatch(Exception):
    """Something well-formed that was not asked for."""


@dataclass(frozen=True, slots=True)
class TransferReaderLimits:
    """How much of one transfer is taken."""

    records: int = MAX_RECORDS
    octets: int = MAX_OCTETS


def is_askable(name: str) -> bool:
    """Whether a name can be queried unchanged, and is no wildcard."""
    return _ASKABLE.fullmatch(name) is not None


class TransferReader:
    """Parse one transfer; ``status`` is empty until it is known, then final.

    ``n_records`` counts records, ``wildcard`` is true if one is a wildcard. With ``keep`` the
    records themselves are stored, without those outside the zone and the last SOA.
    """

    __slots__ = (
        *("_below", "_buffer", "_cuts", "_limits", "_octets", "_owners", "_query_id", "_question"),
        *("_serial", "keep", "n_records", "records", "status", "wildcard", "zone"),
    )

    def __init__(
        self,
        zone: str,
        query_id: int,
        limits: TransferReaderLimits | None = None,
        *,
        keep: bool = False,
    ) -> None:
        self.zone = zone.lower().rstrip(".")
        self.status = ""
        self.n_records = 0
        self.wildcard = False
        self.keep = keep
        self.records: list[Record] = []
        self._limits = limits or TransferReaderLimits()
        self._query_id = query_id
        self._question = dns_message.encode_question(self.zone, "AXFR")
        self._buffer = b""
        self._below = "." + self.zone if self.zone else ""
        self._owners: dict[str, None] = {}
        # Names with delegations (or DNAME): what lies below them is not this zone's.
        self._cuts: set[str] = set()
        self._octets = 0
        # The numbers of the first SOA; the same ones again end the transfer (RFC 5936, 2.2).
        self._serial = b""

    @property
    def query(self) -> bytes:
        """The query with its length in front."""
        message = struct.pack("!6H", self._query_id, 0, 1, 0, 0, 0) + self._question
        return struct.pack("!H", len(message)) + message

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the zone with an address, alias or delegation, in its order, so far.

        A transfer may hold glue, and forged names outside its zone: neither is the zone's own.
        """
        cuts, askable = self._cuts, _ASKABLE.fullmatch
        names = (n for n in self._owners if self._is_inside(n) and askable(n))
        if not cuts:
            return tuple(names)
        return tuple(n for n in names if not self._is_below_zone_cut(n))

    def _is_inside(self, name: str) -> bool:
        return name.endswith(self._below) or name == self.zone

    def _is_below_zone_cut(self, name: str) -> bool:
        while name != self.zone:
            name = name.partition(".")[2]
            if name in self._cuts:
                return True
        return False

    def feed(self, chunk: bytes) -> None:
        """Read what came; once ``status`` is set, the rest is ignored."""
        self._octets += len(chunk)
        data = self._buffer + chunk if self._buffer else chunk
        at = 0
        for message, end in split_messages(data):
            self._read_message(message)
            at = end
            if self.status:
                return
        self._buffer = data[at:]
        if self._octets > self._limits.octets:
            self.status = BUDGET

    def end(self) -> None:
        """The server closed or fell silent: what is not whole by now is cut."""
        if not self.status:
            seen = self._serial or self._buffer
            self.status = DnsStatus.TRUNCATED if seen else DnsStatus.REFUSED

    def _read_message(self, packet: bytes) -> None:
        try:
            self._read(packet)
        except Mismatch:
            self.status = MISMATCH
        except _FAULTS:
            self.status = DnsStatus.MALFORMED

    def _read(self, packet: bytes) -> None:
        query_id, flags, n_questions, n_answers = _HEADER.unpack_from(packet)
        if query_id != self._query_id or not flags & _IS_REPLY or flags & _OTHER_OPCODE:
            raise Mismatch
        offset = 12
        if n_questions:
            offset += len(self._question)
            if n_questions > 1 or packet[12:offset].lower() != self._question.lower():
                raise Mismatch
        if flags & 15:
            self.status = STATUS_BY_RCODE.get(flags & 15, DnsStatus.OTHER)
            return
        self._read_records(packet, offset, n_answers)
        if not self._serial:
            # Some servers refuse by a message without records.
            self.status = DnsStatus.REFUSED
        elif not self.status and self.n_records > self._limits.records:
            self.status = BUDGET

    def _read_records(self, packet: bytes, offset: int, count: int) -> None:
        names, size, unpack = Names(packet), len(packet), _FIXED.unpack_from
        for _ in range(count):
            if self.status:
                raise Malformed("records behind the end of the zone")
            owner, offset = names.read(offset, size)
            code, rrclass, ttl, octets = unpack(packet, offset)
            offset += 10
            end = offset + octets
            if end > size:
                raise Malformed("record data runs past the message")
            if _ADDRESS_OCTETS.get(code) == octets and rrclass == 1 and self._serial:
                self._owners[owner] = None
            elif (code in _JUDGED and rrclass == 1) or not self._serial:
                self._read_special(names, owner, code, (offset, end))
            if owner[:2] == "*." and owner.endswith(self._below):
                self.wildcard = True
            if self.keep and rrclass == 1 and not self.status and self._is_inside(owner):
                self._add_record(names, owner, (code, ttl), (offset, end))
            offset = end
        # A message without records counts as one, so that a stream of them ends too.
        self.n_records += count or 1

    def _add_record(
        self, names: Names, owner: str, code_ttl: tuple[int, int], span: tuple[int, int]
    ) -> None:
        code, ttl = code_ttl
        kind, write = WRITERS.get(code) or find_writer(code)
        # A TTL with the top bit set counts as zero (RFC 2181 section 8).
        ttl = ttl if ttl < 0x80000000 else 0
        self.records.append(Record(owner, kind, ttl, write(names, *span)))

    def _read_special(self, names: Names, owner: str, code: int, span: tuple[int, int]) -> None:
        """Records that are not simply kept or left out."""
        offset, end = span
        if code == _SOA and owner == self.zone:
            self._read_apex(names, offset, end)
        elif not self._serial:
            # RFC 5936 section 2.2: the zone's SOA comes first.
            raise Mismatch
        elif code in _ADDRESS_OCTETS:
            raise Malformed("an address of the wrong length")
        elif code in (_NS, _DNAME) and owner == self.zone:
            return
        elif code != _SOA:
            self._read_alias(names, owner, code, span)

    def _read_alias(self, names: Names, owner: str, code: int, span: tuple[int, int]) -> None:
        offset, end = span
        if names.read(offset, end)[1] != end:
            raise Malformed("a name that does not fill its record")
        if code != _CNAME:
            self._cuts.add(owner)
        if code != _DNAME:
            self._owners[owner] = None

    def _read_apex(self, names: Names, offset: int, end: int) -> None:
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
            # The zone changed within its transfer.
            raise Mismatch
