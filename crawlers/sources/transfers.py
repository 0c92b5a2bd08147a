"""Zone transfers (AXFR) of many zones: one harvest per zone.

The servers of a zone are tried in turn until one sends the whole zone; an incomplete transfer is
kept with its reason.
"""

import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.errors import BadInput
from core.records import Record
from core.statuses import DnsStatus, Technique
from crawlers.engine.engine import Engine
from crawlers.sources.axfr import (
    MAX_OCTETS,
    MAX_RECORDS,
    MISMATCH,
    UNTRUSTED,
    TransferReader,
    TransferReaderLimits,
)
from crawlers.sources.base import Harvest, Zone
from crawlers.sources.tcp_pool import BUDGET, CLOSED, Next, StreamLimits, TcpPool

# The status of a zone that no server gave is the most informative one that they gave instead.
TELLING = (
    DnsStatus.TRUNCATED,
    BUDGET,
    MISMATCH,
    DnsStatus.MALFORMED,
    DnsStatus.REFUSED,
    DnsStatus.NXDOMAIN,
    DnsStatus.NOTIMP,
    DnsStatus.FORMERR,
    DnsStatus.SERVFAIL,
    DnsStatus.OTHER,
    DnsStatus.TIMEOUT,
    DnsStatus.NETWORK,
)
# A second server may be trusted where the first sent without end; a third is not asked.
_MAX_BUDGETS = 2


@dataclass(frozen=True, slots=True)
class TransferLimits(StreamLimits):
    """Bounds of all transfers, and of what one of them may bring."""

    records: int = MAX_RECORDS
    octets: int = MAX_OCTETS


@dataclass(frozen=True, slots=True)
class ZoneHarvest(Harvest):
    """With ``Transfers(keep=True)``, the records of a whole zone as well, its SOA once."""

    records: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True)
class Transfers:
    """Whole zones, where a server gives them."""

    limits: TransferLimits = TransferLimits()
    keep: bool = False

    technique = Technique.AXFR
    is_zone_data = True

    def harvest(self, zones: Sequence[Zone], engine: Engine) -> Iterator[ZoneHarvest]:
        """One harvest per zone, as they end; a zone without servers is ``SKIPPED``.

        Raises ``Unavailable`` where the shared limits of the engine cannot be had.
        """
        orders = [_ZoneTransfer(zone, self.limits, keep=self.keep) for zone in zones]
        streams = TcpPool(self.limits, engine)
        for done in streams.run((o, o.zone.servers if o.is_askable else ()) for o in orders):
            if isinstance(done, _ZoneTransfer):
                yield done.harvest()


def most_severe_failure(failed: Counter[str]) -> str:
    """Return the most specific of the reasons why servers gave nothing."""
    return next((str(s) for s in TELLING if s in failed), str(DnsStatus.SKIPPED))


class _ZoneTransfer:
    """One zone on its way from server to server; ``best`` is the transfer that gave most."""

    def __init__(self, zone: Zone, limits: TransferLimits, *, keep: bool) -> None:
        self.zone = zone
        self._limits = TransferReaderLimits(limits.records, limits.octets)
        self._keep = keep
        self.best: TransferReader | None = None
        self._queries = 0
        self._failed: Counter[str] = Counter()
        self.is_askable = True
        try:
            self._reader = self._open_reader()
        except BadInput:
            self.is_askable = False

    @property
    def weight(self) -> int:
        """Records read by the present transfer and held of an earlier one."""
        return self._reader.n_records + (self.best.n_records if self.best else 0)

    def start(self) -> bytes:
        """A new transfer."""
        self._reader = self._open_reader()
        self._queries += 1
        return self._reader.query

    def receive(self, chunk: bytes) -> bytes | None:
        """Nothing is sent after the query; hangs up when the status is known."""
        self._reader.feed(chunk)
        return None if self._reader.status else b""

    def leave(self, fault: str | None) -> Next:
        """To the next server unless the zone is whole, or endless."""
        reader = self._reader
        if not reader.status:
            self._name_fault(reader, fault)
        if reader.status == "OK":
            self.best = reader
            return Next.OVER
        self._failed[str(reader.status)] += 1
        if reader.status not in UNTRUSTED and reader.n_records:
            held = self.best.n_records if self.best else 0
            self.best = reader if reader.n_records > held else self.best
        # A server that is not even reached leaves this behind.
        self._reader = self._open_reader()
        return Next.OVER if self._failed[BUDGET] >= _MAX_BUDGETS else Next.ELSEWHERE

    def harvest(self) -> ZoneHarvest:
        """What is known in the end."""
        best = self.best
        status = str(best.status) if best else most_severe_failure(self._failed)
        whole = status == "OK"
        return ZoneHarvest(
            self.zone.domain,
            status=status,
            names=best.names if best else (),
            complete=whole,
            wildcard=bool(best and best.wildcard),
            queries=self._queries,
            failed=dict(self._failed),
            records=tuple(best.records) if best and whole else (),
        )

    def _open_reader(self) -> TransferReader:
        return TransferReader(
            self.zone.domain, secrets.randbelow(65_536), self._limits, keep=self._keep
        )

    def _name_fault(self, reader: TransferReader, fault: str | None) -> None:
        if fault == BUDGET:
            reader.status = BUDGET
        elif fault == CLOSED or reader.n_records:
            reader.end()
        else:
            reader.status = str(fault)
