"""Kinds of events, with what they mean."""

REGION, ZONE = "region-changed", "zone-changed"
PATTERN, PROVIDER = "pattern-changed", "provider-changed"
NAME_SERVERS, ISP, LATENCY = "name-servers-changed", "isp-changed", "latency-changed"
PATH = "path-changed"
FINDING_NEW, FINDING_RESOLVED = "finding-new", "finding-resolved"
NO_DATA, RECOVERED = "no-data", "recovered"

KINDS = {
    REGION: "names of a domain are in other regions",
    ZONE: "names of a domain are in other zones",
    PATTERN: "names of a domain use other front ends",
    PROVIDER: "names of a domain came to a provider, left it or changed it",
    NAME_SERVERS: "a domain has other name servers",
    ISP: "routes to a region use other ISPs",
    PATH: "hops of the path between a vantage point and a region have new addresses permanently",
    LATENCY: "the latency of a vantage point and a region changed",
    FINDING_NEW: "an audit has a finding that the audit before did not have",
    FINDING_RESOLVED: "a finding of the audit before is gone",
    NO_DATA: "a run failed, was skipped or gave no data",
    RECOVERED: "a run gave data again",
}
# Kinds of messages that are no event.
TEST, DIGEST, RUN = "test", "digest", "run"
