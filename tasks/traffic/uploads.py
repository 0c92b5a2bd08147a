"""Celery tasks of uploaded traffic logs, and the imports that a reader may see.

The tasks carry ids and are idempotent.
"""

import ipaddress
import logging
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from core.errors import BadInput, MissingData, NephoscopeError
from core.files import TooLarge
from tasks.platform.app import app
from tasks.platform.lease import Lease
from tasks.platform.leased_rows import claim_row, queue_committed, queue_lost, run_row
from tasks.traffic import log_import
from webapp.store.leases import MAX_ATTEMPTS
from webapp.store.models import TrafficUpload
from webapp.store.traffic import services
from webapp.store.traffic.services import MAX_PLAIN_BYTES, UPLOADS, SentFile

log = logging.getLogger(__name__)
MAX_NETWORKS = 50


def upload(
    owner: Any,
    name: str,
    sent: Sequence[SentFile],
    options: Mapping[str, str],
    idempotency_key: str | None = None,
) -> TrafficUpload:
    """Store files and queue their import; raises ``BadInput``, ``TooLarge`` and ``Conflict``.

    ``options`` has ``client_networks``, CIDRs between blanks or commas, and ``as_of``, a day.
    """
    checked = {
        "client_networks": check_networks(options.get("client_networks", "")),
        "as_of": check_day(options.get("as_of", "")),
    }
    row = services.create(owner, name, sent, checked, idempotency_key)
    if not row.has_ended:
        queue_committed(run, row.pk)
    return row


def check_networks(text: str) -> list[str]:
    """Return the networks of a text; raises ``BadInput`` naming the first that is none."""
    found = text.replace(",", " ").split()
    if len(found) > MAX_NETWORKS:
        raise BadInput(f"at most {MAX_NETWORKS} networks", field="client_networks")
    for one in found:
        try:
            ipaddress.ip_network(one)
        except ValueError as error:
            raise BadInput(
                f"{one[:80]!r} is not a network: {error}", field="client_networks"
            ) from error
    return found


def check_day(text: str) -> str:
    """Return a day as ISO text, or an empty text; raises ``BadInput``."""
    try:
        return date.fromisoformat(text.strip()).isoformat() if text.strip() else ""
    except ValueError as error:
        raise BadInput(f"{text[:40]!r} is not a day such as 2026-01-31", field="as_of") from error


@app.task(name="tasks.traffic.import")
def run(pk: int) -> None:
    """Import the files of one upload unless another worker does."""
    row = claim_row(pk, UPLOADS.claim, _fail, MAX_ATTEMPTS)
    if row is None:
        return
    try:
        run_row(row, _run, _fail, UPLOADS.requeue)
    finally:
        if not TrafficUpload.objects.filter(pk=row.pk).exists():
            services.delete(row)


def _fail(row: TrafficUpload, error: str) -> None:
    if UPLOADS.fail(row, error):
        services.remove_files(row)


def _run(row: TrafficUpload) -> None:
    """Import a leased upload; then its files are removed, since they have clients' addresses."""

    def renew(counters: Mapping[str, Any]) -> bool:
        return UPLOADS.renew(row, progress=counters.get("share", 0.0))

    as_of = row.options.get("as_of")
    options = log_import.ImportOptions(
        networks=tuple(row.options.get("client_networks", ())),
        as_of=date.fromisoformat(as_of) if as_of else None,
        reader="own",
        private=True,
    )
    with Lease(f"upload {row.slug}", renew) as lease, services.open_files(row) as files:
        meter = _Meter(lease, sum(one["bytes"] for one in row.files))
        try:
            log_import.write_import(row.slug, files, options, meter.count, lease.confirm)
        except NephoscopeError as error:
            raise type(error)(_without_paths(str(error), files)) from error
    if UPLOADS.finish(row, progress=1.0):
        services.remove_files(row)
    log.info("upload %s was imported", row.slug)


class _Meter:
    """Bounds the unpacked bytes of an import, and reports how far it is."""

    def __init__(self, lease: Lease, packed_bytes: int) -> None:
        self._lease, self._packed_bytes = lease, packed_bytes
        self._packed = self._plain = 0

    def count(self, packed: int, plain: int) -> None:
        """Add bytes that were read; raises ``TooLarge``, and ``Stopped`` for a lost lease."""
        self._packed += packed
        self._plain += plain
        if self._plain > MAX_PLAIN_BYTES:
            raise TooLarge(f"the files have more than {MAX_PLAIN_BYTES // 2**20} MiB unpacked")
        if self._lease.wants_counters():
            share = self._packed / self._packed_bytes if self._packed_bytes else 0.0
            self._lease.count({"share": min(share, 1.0)})


def _without_paths(text: str, files: Sequence[tuple[Any, str]]) -> str:
    """An error that names files as they were sent."""
    # The path of one may begin like that of another.
    for path, name in sorted(files, key=lambda file: len(str(file[0])), reverse=True):
        text = text.replace(str(path), name)
    return text


@app.task(name="tasks.traffic.sweep")
def queue_waiting() -> None:
    """Queue uploads that a broker or a worker lost, and remove files that no upload needs."""
    queue_lost(run, UPLOADS.waiting())
    services.remove_orphans()


def list_visible(user: Any) -> list[str]:
    """Names of the imports that a reader may see, the newest first."""
    names = log_import.list_imports()
    hidden = services.hidden(names, user)
    return [name for name in names if name not in hidden]


def read_visible(name: str, user: Any) -> dict[str, Any]:
    """The report of an import that the reader may see; raises ``MissingData``."""
    if services.hidden([name], user) or not log_import.has_import(name):
        raise MissingData(f"there is no capture {name!r}")
    return log_import.read_report(name)
