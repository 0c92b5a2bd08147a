"""The tables of a traffic report: names, columns and the published table that each restates.

Shares are fractions of one; ``low`` and ``high`` are the 95 % interval over clients, ``None`` where
there are too few of them.
"""

from core.report_tables import Cell, Table, TableSpec

TRAFFIC_SPECS: tuple[TableSpec, ...] = (
    TableSpec(
        "traffic-clouds",
        "Traffic by cloud",
        (
            "provider",
            "bytes",
            "bytes_share",
            "bytes_low",
            "bytes_high",
            "flows",
            "flows_share",
            "flows_low",
            "flows_high",
            "clients",
            "unsized_flows",
        ),
        "IMC'13 Table 3",
    ),
    TableSpec(
        "traffic-protocols",
        "Traffic by protocol",
        (
            "provider",
            "protocol",
            "bytes",
            "bytes_share",
            "bytes_low",
            "bytes_high",
            "flows",
            "flows_share",
            "flows_low",
            "flows_high",
        ),
        "IMC'13 Table 4",
    ),
    TableSpec(
        "traffic-domains",
        "Domains with the most HTTP(S) traffic",
        (
            "provider",
            "position",
            "domain",
            "bytes",
            "bytes_share",
            "bytes_low",
            "bytes_high",
            "flows",
            "clients",
            "evidence",
        ),
        "IMC'13 Table 7",
    ),
    TableSpec(
        "traffic-evidence",
        "How HTTP(S) flows got their names",
        ("provider", "evidence", "bytes", "bytes_share", "flows", "flows_share", "domains"),
        "IMC'13 section 4.3.2",
    ),
    TableSpec(
        "traffic-directions",
        "Who opened the flows",
        ("provider", "direction", "bytes", "flows", "clients", "counted"),
        "IMC'13 section 4.3.1",
    ),
    TableSpec(
        "traffic-regions",
        "Traffic by region",
        ("provider", "region", "bytes", "bytes_share", "flows", "flows_share", "servers"),
        "",
    ),
)
TRAFFIC_SPEC_BY_ID = {spec.id: spec for spec in TRAFFIC_SPECS}
# The rows of Table 4, in its order; QUIC came later, and "other" is neither TCP, UDP nor ICMP.
PROTOCOLS = ("icmp", "http", "https", "dns", "other-tcp", "quic", "other-udp", "other")
# Table 7 lists so many domains of each cloud.
TOP_DOMAINS = 15
TOTAL = "total"

Row = tuple[Cell, ...]


def fill(table_id: str, rows: list[Row], n: int) -> Table:
    """A table of the report; ``n`` is the number of flows that it is about."""
    spec = TRAFFIC_SPEC_BY_ID[table_id]
    return Table(spec.id, spec.columns, tuple(rows), n)
