"""Closed vocabularies, each value with its rule for trying again."""

from enum import StrEnum


class DnsStatus(StrEnum):
    """Outcome of one DNS question, final after all retries."""

    # A crawl counts and writes millions of these; the text's own methods take a tenth of the time.
    __hash__ = str.__hash__
    __format__ = str.__format__  # type: ignore[assignment]

    NOERROR = "NOERROR"
    NODATA = "NODATA"
    NXDOMAIN = "NXDOMAIN"
    SERVFAIL = "SERVFAIL"
    REFUSED = "REFUSED"
    FORMERR = "FORMERR"
    NOTIMP = "NOTIMP"
    TIMEOUT = "TIMEOUT"
    MALFORMED = "MALFORMED"
    TRUNCATED = "TRUNCATED"
    CNAME_LOOP = "CNAME_LOOP"
    NETWORK = "NETWORK"
    SKIPPED = "SKIPPED"
    OTHER = "OTHER"


# NXDOMAIN and NODATA are answers, so asking another server would only cost it work.
RETRY_ELSEWHERE = frozenset(
    {
        DnsStatus.SERVFAIL,
        DnsStatus.REFUSED,
        DnsStatus.NOTIMP,
        DnsStatus.TIMEOUT,
        DnsStatus.MALFORMED,
        DnsStatus.NETWORK,
        DnsStatus.OTHER,
    }
)
ANSWERED = frozenset({DnsStatus.NOERROR, DnsStatus.NODATA, DnsStatus.NXDOMAIN})
FAILED = frozenset(DnsStatus) - ANSWERED


class Technique(StrEnum):
    """How a name was found."""

    LISTED = "listed"  # the name was in the domain list itself
    AXFR = "axfr"
    NSEC = "nsec"  # the zone's own chain of signed denials was walked
    IMPORT = "import"  # a list that the user brought
    CERTIFICATE = "certificate"  # a certificate-transparency log holds it
    WORDLIST = "wordlist"
    PERMUTATION = "permutation"  # made from labels that were found before


class SurveyState(StrEnum):
    """Life of a survey; the last four are final."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINAL_STATES = frozenset(
    {
        SurveyState.FINISHED,
        SurveyState.PARTIAL,
        SurveyState.FAILED,
        SurveyState.CANCELLED,
    }
)


class AddressKind(StrEnum):
    """What follows a published prefix."""

    CLOUD = "cloud"  # compute and everything else that a customer can rent in a region
    CDN = "cdn"  # an edge network: states nothing about the region of the origin
    CORPORATE = "corporate"  # the provider's own services, not rented out
    OTHER = "other"  # no published prefix holds the address
