"""Durable, idempotent storage of agents' reports in batches.

Bodies are synced to disk before rows are committed, and both before receipts are sent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from core.errors import BadInput, NephoscopeError
from screening.decision.verdict import Marks
from screening.report.parsing import Report, parse_report
from screening.report.schema import MOST_BYTES as MOST_BYTES
from screening.report.schema import print_schema as print_schema
from webapp.store.models import Pool, PoolInstance, PoolReport, PoolToken
from webapp.store.screening import body_files
from webapp.store.screening.secrets import hash_secret
from webapp.store.screening.verdicts import VERDICT_FIELDS, copy_verdict, summarise

MOST_REPORTS = 2_000_000
MOST_INSTANCES = 100_000
KEPT_ADDRESSES = 16
MAX_REASONS = 20


class InvalidToken(NephoscopeError):
    """The token opens no pool: unknown, expired or revoked."""

    permanent = True


class ReportIdReused(BadInput):
    """The report's id has come before with another content."""


class PoolFull(NephoscopeError):
    """The pool has as many reports, machines or bytes as it may."""

    permanent = True


@dataclass(frozen=True, slots=True)
class Grant:
    """What a valid token allows: writing to one pool, judged by its marks."""

    token: int
    pool: int
    key: str
    marks: Marks


@dataclass(frozen=True, slots=True)
class Arrival:
    """A checked and judged report that is not stored yet."""

    grant: Grant
    columns: Mapping[str, Any]
    host: Mapping[str, Any]
    body: bytes
    report: Report


@dataclass(frozen=True, slots=True)
class Receipt:
    """Receipt of a report; ``repeated`` for a duplicate."""

    report_id: str
    pool: str
    instance: str
    verdict: str
    reasons: tuple[str, ...]
    repeated: bool


def find_grant(secret: str) -> Grant:
    """Return the grant of a pool token; raise ``InvalidToken`` with the reason."""
    tokens = PoolToken.objects.filter(sha256=hash_secret(secret))
    found = tokens.select_related("pool__owner").first()
    if found is None:
        raise InvalidToken("no pool has this token: copy it from the pool's page")
    if found.revoked_at:
        raise InvalidToken("this token was revoked: make another on the pool's page")
    if found.expires_at and found.expires_at <= timezone.now():
        raise InvalidToken("this token has expired: make another on the pool's page")
    pool = found.pool
    if pool.owner and not pool.owner.is_active:
        raise InvalidToken("the account of this pool is closed")
    return Grant(found.pk, pool.pk, pool.key, Marks(pool.low, pool.high))


def read_arrival(grant: Grant, body: bytes, report_id: str = "") -> Arrival:
    """Check and judge a report; BadInput names what is wrong. The database is not asked."""
    report = parse_report(body, timezone.now().timestamp())
    if report_id and report_id != report.report_id:
        raise BadInput("is not that of the header Idempotency-Key", field="report_id")
    host = {name: getattr(report.host, name) for name in report.host.__slots__}
    columns = summarise(report, grant.marks)
    return Arrival(grant, columns, host, body_files.compress(body), report)


def store_arrivals(batch: Sequence[Arrival]) -> list[Receipt | NephoscopeError]:
    """Store what is new, in one transaction; per arrival a receipt, or why it was refused."""
    _force_durability()
    with transaction.atomic():
        return _Batch(batch).store()


def _force_durability() -> None:
    """SQLite forces its log onto the disk at every commit of this connection from now on."""
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous=FULL")


def _key(one: Arrival) -> tuple[int, str]:
    return one.grant.pool, one.report.report_id


def _known(batch: Sequence[Arrival]) -> dict[tuple[int, str], PoolReport]:
    wanted = Q(pk__in=())
    for pool in {one.grant.pool for one in batch}:
        ids = {one.report.report_id for one in batch if one.grant.pool == pool}
        wanted |= Q(pool=pool, report_id__in=ids)
    rows = PoolReport.objects.filter(wanted).select_related("instance").order_by()
    return {(row.pool_id, row.report_id): row for row in rows}


class _Batch:
    """Store one batch in a transaction; duplicates get their earlier receipt."""

    def __init__(self, batch: Sequence[Arrival]) -> None:
        self.batch = batch
        self.now = timezone.now()
        numbers = {one.grant.pool for one in batch}
        # The row of a pool is its lock: counts and machines are written by one process at a time.
        locked = Pool.objects.select_for_update().filter(pk__in=numbers).order_by("pk")
        self.pools = {pool.pk: pool for pool in locked.defer("findings")}
        self.known = _known(batch)
        self.valid = self._valid_tokens()
        self.rows: list[PoolReport] = []
        self.bodies: dict[int, list[bytes]] = {pool: [] for pool in numbers}
        self.machines = _find_machines(batch)
        self.added_bytes = dict.fromkeys(numbers, 0)

    def _valid_tokens(self) -> set[int]:
        tokens = PoolToken.objects.filter(pk__in={one.grant.token for one in self.batch})
        alive = Q(expires_at=None) | Q(expires_at__gt=self.now)
        open_ = Q(pool__owner=None) | Q(pool__owner__is_active=True)
        return set(tokens.filter(alive, open_, revoked_at=None).values_list("pk", flat=True))

    def store(self) -> list[Receipt | NephoscopeError]:
        """Receipts in the order of arrival."""
        outcomes = [self._store_or_refuse(one) for one in self.batch]
        if self.rows:
            self._write()
        return outcomes

    def _store_or_refuse(self, one: Arrival) -> Receipt | NephoscopeError:
        try:
            return self._store_one(one)
        except NephoscopeError as error:
            return error

    def _store_one(self, one: Arrival) -> Receipt:
        if one.grant.pool not in self.pools or one.grant.token not in self.valid:
            raise InvalidToken("this token has ended meanwhile: make another on the pool's page")
        before = self.known.get(_key(one))
        if before is not None:
            if before.fingerprint != one.report.fingerprint:
                raise ReportIdReused("was used for a different report", field="report_id")
            return _receipt(one.grant, before, repeated=True)
        self._check_quota(one)
        row = self._build_row(self._apply_thresholds(one))
        self.known[_key(one)] = row
        self.rows.append(row)
        self.bodies[one.grant.pool].append(one.body)
        self.added_bytes[one.grant.pool] += len(one.body)
        return _receipt(one.grant, row, repeated=False)

    def _apply_thresholds(self, one: Arrival) -> Arrival:
        """The arrival, judged by the marks of this moment."""
        pool = self.pools[one.grant.pool]
        marks = Marks(pool.low, pool.high)
        if marks == one.grant.marks:
            return one
        return replace(one, columns=summarise(one.report, marks))

    def _check_quota(self, one: Arrival) -> None:
        pool = self.pools[one.grant.pool]
        if pool.n_reports + len(self.rows) >= MOST_REPORTS:
            raise PoolFull(f"the pool has {MOST_REPORTS:,} reports: make another")
        size = pool.n_bytes + self.added_bytes[pool.pk] + len(one.body)
        if size > settings.MAX_POOL_BYTES:
            limit = settings.MAX_POOL_BYTES // 1_000_000
            raise PoolFull(f"the pool's reports fill its {limit:,} MB: make another")

    def _build_row(self, one: Arrival) -> PoolReport:
        machine = self._machine(one)
        if machine.pk is None and _is_crowded(self.pools[one.grant.pool]):
            raise PoolFull(f"the pool has {MOST_INSTANCES:,} machines: make another")
        _update_machine(machine, one, self.now)
        return PoolReport(
            pool_id=one.grant.pool,
            instance=machine,
            token_id=one.grant.token,
            received_at=self.now,
            **one.columns,
        )

    def _machine(self, one: Arrival) -> PoolInstance:
        pool, name, machine = _machine_key(one)
        found = self.machines.get((pool, name, machine))
        if found is None:
            found = PoolInstance(pool_id=pool, name=name, machine=machine)
            self.machines[pool, name, machine] = found
        return found

    def _write(self) -> None:
        for number, bodies in self.bodies.items():
            own = [row for row in self.rows if row.pool_id == number]
            for row, place in zip(own, body_files.append(number, bodies), strict=True):
                row.pack, row.offset, row.length = place.pack, place.offset, place.length
        seen = {id(row.instance): row.instance for row in self.rows}
        PoolInstance.objects.bulk_create(
            seen.values(),
            update_conflicts=True,
            unique_fields=["pool", "name", "machine"],
            update_fields=SEEN_FIELDS,
        )
        for row in self.rows:
            row.instance_id = row.instance.pk
        PoolReport.objects.bulk_create(self.rows)
        for pool in self.pools.values():
            own = [row for row in self.rows if row.pool_id == pool.pk]
            if own:
                self._count(pool, own)
        used = {row.token_id for row in self.rows if row.token_id}
        PoolToken.objects.filter(pk__in=used).update(last_used_at=self.now)

    def _count(self, pool: Pool, own: Sequence[PoolReport]) -> None:
        calls = any(row.has_network for row in own)
        Pool.objects.filter(pk=pool.pk).update(
            n_reports=F("n_reports") + len(own),
            n_bytes=F("n_bytes") + self.added_bytes[pool.pk],
            revision=F("revision") + 1,
            network_revision=F("network_revision") + int(calls),
            last_report_at=self.now,
        )


def _is_crowded(pool: Pool) -> bool:
    # There are hardly more machines than reports, so that counting is rarely needed.
    return pool.n_reports >= MOST_INSTANCES and pool.instances.count() >= MOST_INSTANCES


SEEN_FIELDS = [
    *VERDICT_FIELDS,
    "addresses",
    "host",
    "judged_from",
    "n_reports",
    "first_seen_at",
    "last_seen_at",
]


def _machine_key(one: Arrival) -> tuple[int, str, str]:
    return one.grant.pool, one.report.host.name, one.report.host.machine_id


def _find_machines(batch: Sequence[Arrival]) -> dict[tuple[int, str, str], PoolInstance]:
    keys = {_machine_key(one) for one in batch}
    rows = PoolInstance.objects.filter(
        pool__in={pool for pool, _, _ in keys}, name__in={name for _, name, _ in keys}
    )
    return {(row.pool_id, row.name, row.machine): row for row in rows}


def _update_machine(machine: PoolInstance, one: Arrival, now: datetime) -> None:
    machine.n_reports += 1
    machine.first_seen_at = machine.first_seen_at or now
    machine.last_seen_at = now
    machine.host = {name: one.host[name] for name in one.host if name != "addresses"}
    known = [*one.host["addresses"], *machine.addresses]
    machine.addresses = list(dict.fromkeys(known))[:KEPT_ADDRESSES]
    started_at = one.columns["started_at"]
    is_newer = machine.judged_from is None or started_at >= machine.judged_from
    if one.columns["has_sleeps"] and is_newer:
        machine.judged_from = started_at
        copy_verdict(machine, one.columns)


def _receipt(grant: Grant, row: PoolReport, *, repeated: bool) -> Receipt:
    reasons = tuple(row.summary.get("reasons", ()))[:MAX_REASONS]
    verdict = row.verdict or "not-enough"
    return Receipt(row.report_id, grant.key, row.instance.name, verdict, reasons, repeated)
