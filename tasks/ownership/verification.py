"""Verify control of a domain by a TXT record or a file, and of an address by a file.

The record is of the form of draft-ietf-dnsop-domain-verification-techniques. The file is fetched by
``core.http`` from an address that the SSRF guard admitted; no redirect is followed.
"""

from urllib.request import Request

from django.conf import settings

from core.errors import BadInput, NephoscopeError
from core.http import send
from core.records import Answer
from core.release import VERSION
from core.statuses import DnsStatus
from crawlers.engine.engine import Question
from tasks.resolution.engine_factory import Resolving, open_engine
from webapp.store.access import domain_claims
from webapp.store.models import DomainClaim
from webapp.store.schedules.targets import pin_address

_LABEL = "_nephoscope-challenge"
_PREFIX = "nephoscope-verification="
_PATH = "/.well-known/nephoscope-verification.txt"
_MAX_BYTES = 4_096
# A person waits for the reply.
_DNS_TIMEOUT_S, _HTTP_TIMEOUT_S = 2.0, 4.0


def record_name(row: DomainClaim) -> str:
    """The name of the TXT record."""
    return f"{_LABEL}.{row.name}"


def expected_text(row: DomainClaim) -> str:
    """The value of the TXT record, and the contents of the file."""
    return f"{_PREFIX}{row.token}"


def file_urls(row: DomainClaim) -> list[str]:
    """The URLs of the file, in the order in which they are requested."""
    host = f"[{row.name}]" if ":" in row.name else row.name
    return [f"{scheme}://{host}{_PATH}" for scheme in ("https", "http")]


def verify(row: DomainClaim) -> bool:
    """Look for the record, then for the file; store the result, with the reason of a failure."""
    reasons = []
    if not domain_claims.is_address(row.name):
        reason = why_not_in_dns(row)
        if not reason:
            domain_claims.confirm(row, DomainClaim.Method.DNS)
            return True
        reasons.append(reason)
    for url in file_urls(row):
        reason = why_not_in_file(url, expected_text(row))
        if not reason:
            domain_claims.confirm(row, DomainClaim.Method.FILE)
            return True
        reasons.append(reason)
    domain_claims.fail(row, "; ".join(reasons))
    return False


def why_not_in_dns(row: DomainClaim) -> str:
    """Query the TXT record; return the reason why it proves nothing, empty where it does."""
    name = record_name(row)
    options = Resolving(
        name_servers=tuple(settings.NAME_SERVERS), retries=1, timeout_s=_DNS_TIMEOUT_S
    )
    try:
        with open_engine(options) as engine:
            answers = [answer for _, answer in engine.resolve([Question(name, "TXT")])]
    except NephoscopeError as error:
        return f"{name}: {error}"
    texts = [text for answer in answers for text in _texts(answer)]
    if expected_text(row) in texts:
        return ""
    if texts:
        return f"{name}: the TXT record has another value"
    status = answers[0].status if answers else DnsStatus.TIMEOUT
    found = "there is no TXT record" if status in _DENIED else f"no answer ({status})"
    return f"{name}: {found}"


_DENIED = (DnsStatus.NOERROR, DnsStatus.NODATA, DnsStatus.NXDOMAIN)


def _texts(answer: Answer) -> list[str]:
    return [record.data.replace('"', "") for record in answer.answers if record.type == "TXT"]


def why_not_in_file(url: str, expected: str) -> str:
    """Request the file; return the reason why it proves nothing, empty where it does."""
    try:
        pin = pin_address(url, is_plain_allowed=True)
        request = Request(url, headers={"User-Agent": f"Nephoscope/{VERSION}"})
        reply = send(request, _HTTP_TIMEOUT_S, _MAX_BYTES, pin=pin)
    except (NephoscopeError, OSError) as error:
        return f"{url}: {error.text if isinstance(error, BadInput) else error}"
    if reply.status != 200:
        return f"{url}: status {reply.status}"
    if reply.body.decode("utf-8", "replace").strip() != expected:
        return f"{url}: the file has other contents"
    return ""
