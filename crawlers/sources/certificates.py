"""Search certificate-transparency logs in crt.sh's JSON form for names of zones.

A server is queried only where the user names one, once per zone and with pauses. Complete rows of a
broken reply are used, and the harvest reports that more is missing.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from core.clock import Clock, SystemClock
from core.errors import BadInput
from core.statuses import Technique
from crawlers.engine.engine import Engine
from crawlers.engine.nameservers import Network
from crawlers.sources.base import Harvest, Zone
from crawlers.sources.hostnames import clean_host
from crawlers.sources.lists.json_stream import Broken, JsonStream
from crawlers.sources.web_client import Failed, WebClient, WebLimits, split_server_url

PRODUCT = "Nephoscope/0.1"
# Names of one certificate; those of the largest known ones are a tenth of it.
_MAX_NAMES_PER_ROW = 20_000
# After so many zones in a row that a server failed, the others are not asked.
_GIVE_UP_AFTER = 3


@dataclass(frozen=True, slots=True)
class CertificateConfig:
    """Which server to ask, as whom, and how much of it.

    ``contact`` is a mail address or page for the server's operator. Each zone costs one request,
    or up to ``attempts`` where the server fails, after 1, 2, 4… times ``back_off_s``.
    """

    server: str
    contact: str = ""
    attempts: int = 4
    back_off_s: float = 2.0
    names: int = 100_000
    limits: WebLimits = WebLimits()
    allowed_networks: tuple[Network, ...] = ()

    def __post_init__(self) -> None:
        split_server_url(self.server)
        if not self.contact.isascii() or not self.contact.isprintable() or "(" in self.contact:
            raise BadInput("the contact is not plain ASCII text", field="contact")

    @property
    def user_agent(self) -> str:
        """How requests name their sender."""
        return f"{PRODUCT} (+{self.contact})" if self.contact else PRODUCT

    def url_of(self, domain: str) -> str:
        """The search for all names below a domain."""
        return f"{self.server.rstrip('/')}/?q={quote('%.' + domain, safe='.')}&output=json"


@dataclass(frozen=True, slots=True)
class Certificates:
    """Names in public certificates, those of the latest certificates first.

    ``Harvest.failed`` counts failed requests by status, and what of the rows was no name to
    ask: EMAIL, OUTSIDE, INVALID and BROKEN (a row that was no JSON).
    """

    config: CertificateConfig
    clock: Clock = field(default_factory=SystemClock)

    technique = Technique.CERTIFICATE
    is_zone_data = False

    def harvest(self, zones: Sequence[Zone], engine: Engine) -> Iterator[Harvest]:
        """One harvest per zone, one after another; ``SKIPPED`` after a server gave out."""
        config = self.config
        client = WebClient(config.user_agent, config.limits, self.clock, config.allowed_networks)
        failures = 0
        for zone in zones:
            if failures >= _GIVE_UP_AFTER:
                yield Harvest(zone.domain, "SKIPPED", complete=False)
                continue
            search = _Search(zone.domain, config, client, self.clock)
            search.run()
            failures = 0 if search.was_answered else failures + 1
            yield search.harvest()


class _Search:
    """The search for one zone, tried again where that can help."""

    def __init__(
        self, domain: str, config: CertificateConfig, client: WebClient, clock: Clock
    ) -> None:
        self._domain = domain
        self._config = config
        self._client = client
        self._clock = clock
        self._best = _Rows(domain, config.names)
        self._failed: Counter[str] = Counter()
        self._status = "OK"
        self._requests = 0

    @property
    def was_answered(self) -> bool:
        return self._status == "OK" or bool(self._best.names)

    def run(self) -> None:
        before = self._client.requests
        for attempt in range(self._config.attempts):
            failure = self._try()
            self._status = failure.status if failure else "OK"
            if failure is None:
                break
            self._failed[failure.status] += 1
            if failure.permanent or attempt == self._config.attempts - 1:
                break
            self._clock.sleep(self._config.back_off_s * 2**attempt)
        self._requests = self._client.requests - before

    def harvest(self) -> Harvest:
        rows = self._best
        names = rows.in_order()
        status = "BUDGET" if self._status == "OK" and rows.is_over else self._status
        if status == "OK" and rows.skipped["BROKEN"]:
            status = "MALFORMED"
        return Harvest(
            self._domain,
            status=status,
            names=names,
            complete=status == "OK",
            queries=self._requests,
            failed=dict(self._failed + rows.skipped),
        )

    def _try(self) -> Failed | None:
        """Read one reply; the fullest of all replies is kept."""
        rows = _Rows(self._domain, self._config.names)
        try:
            self._read(rows)
        except Failed as failure:
            return failure
        except Broken as error:
            return Failed("MALFORMED", f"the reply {error}", again=True)
        finally:
            if len(rows.names) >= len(self._best.names):
                self._best = rows
        return None

    def _read(self, rows: "_Rows") -> None:
        stream = JsonStream()
        try:
            # Closed at once, also where the reply is not JSON: the next one waits for it.
            with closing(self._client.stream(self._config.url_of(self._domain))) as chunks:
                for chunk in chunks:
                    for row in stream.feed(chunk):
                        rows.add_row(row)
            for row in stream.feed(b"", last=True):
                rows.add_row(row)
        finally:
            rows.skipped["BROKEN"] += stream.broken
        if not stream.is_whole:
            raise Failed("TRUNCATED", "the reply breaks off", again=True)


class _Rows:
    """Names of the rows that were read, with the end of their latest certificate."""

    def __init__(self, domain: str, max_names: int) -> None:
        self.names: dict[str, str] = {}
        self.skipped: Counter[str] = Counter()
        self.is_over = False
        self._domain = domain
        self._suffix = "." + domain
        self._max_names = max_names

    def add_row(self, row: Any) -> None:
        """Names of one row; what is no row counts as broken."""
        if not isinstance(row, dict):
            self.skipped["BROKEN"] += 1
            return
        value, common = row.get("name_value"), row.get("common_name")
        if not isinstance(value, str) and not isinstance(common, str):
            self.skipped["BROKEN"] += 1
            return
        texts = [t for part in (value, common) if isinstance(part, str) for t in part.split("\n")]
        ends = row.get("not_after")
        for text in dict.fromkeys(texts[:_MAX_NAMES_PER_ROW]):
            self._add_name(text, ends if isinstance(ends, str) else "")

    def in_order(self) -> tuple[str, ...]:
        """The names of certificates that are valid for longest, first; then by letters."""
        self._bound(self._max_names)
        names = sorted(self.names)
        return tuple(sorted(names, key=self.names.__getitem__, reverse=True))

    def _add_name(self, text: str, ends: str) -> None:
        if not text.strip():
            return
        try:
            # Certificates are renewed, so most rows repeat names that were judged before.
            name = text if text in self.names else clean_host(text)
        except BadInput:
            self.skipped["EMAIL" if "@" in text else "INVALID"] += 1
            return
        if not name.endswith(self._suffix):
            # The domain itself is queried in any case.
            self.skipped["OUTSIDE"] += name != self._domain
            return
        # ISO 8601 sorts unchanged, and no longer text is kept than it needs.
        self.names[name] = max(self.names.get(name, ""), ends[:32])
        if len(self.names) > 2 * self._max_names:
            self._bound(self._max_names)

    def _bound(self, size: int) -> None:
        if len(self.names) <= size:
            return
        self.is_over = True
        best = sorted(sorted(self.names), key=self.names.__getitem__, reverse=True)[:size]
        self.names = {name: self.names[name] for name in best}
