"""HTTP and HTTPS: the time of each step of a request."""

from analysis.campaigns.probe_reports.probe_report import Limit, ProbeReport, Statistic, detail

_FIRST_BYTE = (
    f"coalesce({detail('dns_ms')}, 0) + {detail('connect_ms')} "
    f"+ coalesce({detail('tls_ms')}, 0) + {detail('wait_ms')}"
)
REPORT = ProbeReport(
    id="probe-http",
    title="HTTP",
    probes=("http",),
    statistics=(
        Statistic("dns", "ms", detail("dns_ms")),
        Statistic("connect", "ms", detail("connect_ms")),
        Statistic("tls", "ms", detail("tls_ms")),
        Statistic("wait", "ms", detail("wait_ms")),
        Statistic("first_byte", "ms", _FIRST_BYTE),
        Statistic("read", "ms", detail("read_ms")),
        Statistic("total", "ms"),
    ),
    leading="first_byte",
    limits=(
        Limit(
            use="web pages",
            statistic="first_byte",
            bound=800,
            share=0.75,
            rule="75 % of requests have their first octet within 800 ms",
            source="web.dev, Time to First Byte: good",
        ),
    ),
)
