"""Pools, their tokens, machines, reports and logs as pages and API show them; nothing is written.

Every reader of a pool takes the :class:`PoolRow` that :func:`find_pool` gave for a user.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Q
from django.utils import timezone

from webapp.store.access import share_links
from webapp.store.access.visibility import Operator, may_manage, visible
from webapp.store.models import Pool, PoolInstance, PoolLog, PoolReport, PoolToken

GOOD, NETWORK_TEST, BAD, UNKNOWN = "good", "network-test", "bad", "not-enough"
VERDICTS = (GOOD, NETWORK_TEST, BAD, UNKNOWN)
MOST_POOLS = 500


@dataclass(frozen=True, slots=True)
class PoolRow:
    """One pool; ``verdicts`` counts its machines by verdict, ``is_mine``: the reader may change it.

    ``share_secret`` is empty if it is not shared or the reader is not its owner.
    """

    id: int
    key: str
    name: str
    is_mine: bool
    is_public: bool
    low: float
    high: float
    wanted: int
    price: float
    currency: str
    contributes: bool
    share_secret: str
    n_instances: int
    n_reports: int
    verdicts: dict[str, int]
    revision: int
    analysed_revision: int
    analysed_at: datetime | None
    findings: dict[str, Any]
    created_at: datetime
    last_report_at: datetime | None

    @property
    def is_analysed(self) -> bool:
        """Whether the findings cover all reports."""
        return self.analysed_revision >= self.revision


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A pool token without its secret; ``state`` is ``active``, ``expired`` or ``revoked``."""

    id: int
    name: str
    prefix: str
    state: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """One machine with its newest verdict; ``truth`` is the verdict of network tests."""

    id: int
    name: str
    machine: str
    host: dict[str, Any]
    verdict: str
    sure: bool
    stalls: int
    seconds: float
    per_100s: float | None
    rate_low: float | None
    rate_high: float | None
    p999_ms: float | None
    good_chance: float | None
    cause: str
    truth: str
    truth_sure: bool
    truth_p999_ms: float | None
    label: str
    n_reports: int
    first_seen_at: datetime | None
    last_seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One report that arrived; ``summary`` holds reasons, chances, causes and figures per CPU."""

    id: int
    report_id: str
    instance: int
    name: str
    started_at: datetime
    received_at: datetime
    has_sleeps: bool
    has_network: bool
    has_battery: bool
    verdict: str
    per_100s: float | None
    cause: str
    summary: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LogRow:
    """A log of another tool; ``series`` has the document of ``screening verdict`` per series.

    Each also has ``curve``: pairs of share and value, for the distribution beside the pool's own.
    """

    id: int
    name: str
    kind: str
    n_bytes: int
    n_series: int
    series: list[dict[str, Any]]
    created_at: datetime


def settle(verdict: str, truth: str) -> str:
    """Return the final verdict of a machine: network tests decide where they can."""
    return truth if truth in (GOOD, BAD) else verdict


def list_pools(user: Any) -> list[PoolRow]:
    """Pools that a user may see, newest first."""
    return _rows(visible(Pool.objects.all(), user)[:MOST_POOLS], user)


def find_pool(user: Any, key: str) -> PoolRow | None:
    """One pool, if the user may see it."""
    return _first(visible(Pool.objects.filter(key=key), user), user)


def find_own_pool(user: Any, key: str) -> PoolRow | None:
    """One pool, if the user may change it: its owner, or the operator of the machine."""
    row = find_pool(user, key)
    return row if row and row.is_mine else None


def find_shared_pool(secret: str) -> PoolRow | None:
    """The pool that a share link opens, to be read and nothing else."""
    return _first(share_links.filter_by_secret(Pool.objects.all(), secret), None)


def list_tokens(pool: PoolRow) -> list[TokenRow]:
    """Tokens of a pool, newest first."""
    return [_token_row(token) for token in PoolToken.objects.filter(pool=pool.id)]


def list_instances(pool: PoolRow, verdict: str = "") -> list[InstanceRow]:
    """Machines of a pool by name, or those of one verdict."""
    found = PoolInstance.objects.filter(pool=pool.id)
    return [instance_row(one) for one in (found.filter(verdict=verdict) if verdict else found)]


def find_instance(pool: PoolRow, pk: int) -> InstanceRow | None:
    """One machine of a pool."""
    found = PoolInstance.objects.filter(pool=pool.id, pk=pk).first()
    return instance_row(found) if found else None


def list_reports(pool: PoolRow, instance: int | None = None, limit: int = 200) -> list[ReportRow]:
    """Reports of a pool in order of arrival, or of one of its machines; the newest first."""
    found = PoolReport.objects.filter(pool=pool.id).select_related("instance")
    order = "-received_at" if instance is None else "-started_at"
    chosen = found if instance is None else found.filter(instance=instance)
    return [report_row(one) for one in chosen.order_by(order, "-id")[:limit]]


def list_logs(pool: PoolRow) -> list[LogRow]:
    """Logs of other tools that were put beside a pool, newest first."""
    return [
        LogRow(one.pk, one.name, one.kind, one.n_bytes, one.n_series, one.series, one.created_at)
        for one in PoolLog.objects.filter(pool=pool.id)
    ]


def instance_row(one: PoolInstance) -> InstanceRow:
    """A machine as pages show it."""
    names = [name for name in InstanceRow.__slots__ if name != "id"]
    return InstanceRow(id=one.pk, **{name: getattr(one, name) for name in names})


def report_row(one: PoolReport) -> ReportRow:
    """A report as pages show it."""
    own = ("id", "instance", "name")
    values = {name: getattr(one, name) for name in ReportRow.__slots__ if name not in own}
    return ReportRow(id=one.pk, instance=one.instance_id, name=one.instance.name, **values)


def _token_row(one: PoolToken) -> TokenRow:
    expired = one.expires_at is not None and one.expires_at <= timezone.now()
    state = "revoked" if one.revoked_at else "expired" if expired else "active"
    return TokenRow(
        one.pk, one.name, one.prefix, state, one.created_at, one.last_used_at, one.expires_at
    )


def _first(found: Any, user: Any) -> PoolRow | None:
    return next(iter(_rows(found[:1], user)), None)


def _rows(found: Any, user: Any) -> list[PoolRow]:
    pools = list(found)
    counts = _count_verdicts([pool.pk for pool in pools])
    return [_pool_row(pool, user, counts.get(pool.pk, {})) for pool in pools]


def _count_verdicts(pools: list[int]) -> dict[int, dict[str, int]]:
    counted: dict[int, dict[str, int]] = {}
    rows = PoolInstance.objects.filter(pool__in=pools).values("pool", "verdict").order_by()
    for row in rows.annotate(n=Count("pk")):
        counted.setdefault(row["pool"], {})[row["verdict"]] = row["n"]
    return counted


def _pool_row(pool: Pool, user: Any, counts: Mapping[str, int]) -> PoolRow:
    is_mine = _may_change(pool, user)
    own = ("id", "is_mine", "is_public", "share_secret", "n_instances", "verdicts")
    values = {name: getattr(pool, name) for name in PoolRow.__slots__ if name not in own}
    return PoolRow(
        id=pool.pk,
        is_mine=is_mine,
        is_public=pool.owner_id is None,
        share_secret=share_links.secret_of(pool) if is_mine else "",
        n_instances=sum(counts.values()),
        verdicts={name: counts.get(name, 0) for name in VERDICTS},
        **values,
    )


def _may_change(pool: Pool, user: Any) -> bool:
    return isinstance(user, Operator) or may_manage(pool, user)


def find_last_change(pool: PoolRow) -> str:
    """What changes whenever the pool's page would: for live pages and entity tags."""
    last = PoolReport.objects.filter(pool=pool.id).aggregate(
        last=Max("pk"), network=Count("pk", filter=Q(has_network=True))
    )
    logs = PoolLog.objects.filter(pool=pool.id).aggregate(last=Max("pk"), n=Count("pk"))
    numbers = (
        pool.revision,
        pool.analysed_revision,
        last["last"] or 0,
        last["network"],
        logs["last"] or 0,
        logs["n"],
    )
    return "-".join(map(str, numbers))
