"""Load balancers with addresses shared by names."""

from collections.abc import Iterator

from analysis.deployment import sharing
from analysis.reporting.tables.report_table import ReportTable, Rows, Tables, check_end, rows_of
from core.wording import Portion


def _elb_sharing(tables: Tables) -> str:
    rows = rows_of(tables, "elb-sharing")
    if not rows:
        return "No load balancer was found"
    whole = sum(r["elb_ips"] for r in rows)
    alone = sum(r["elb_ips"] for r in rows if r["names_at_most"] == 1)
    portion = Portion(whole - alone, whole, "load balancer’s address", "load balancers’ addresses")
    return portion.sentence("serves several subdomains", "serve several subdomains")


def _check_elb_sharing(rows: Rows) -> Iterator[str]:
    """Each load balancer of Table 8 is in one class."""
    balancers = sum(r["elb_ips"] for r in rows["elb-sharing"])
    known = sum(r["instances"] for r in rows["patterns"] if r["feature"] == "elb")
    if balancers != known:
        yield f"elb-sharing: {balancers} addresses, not the {known} of the patterns"
    yield from check_end(rows, "elb-sharing")


TABLES = (
    ReportTable(
        "elb-sharing",
        sharing.elb_sharing,
        _elb_sharing,
        "Distinct names behind each address of a load balancer, in classes by their upper edge. "
        "The published text: about 4 % of addresses are shared by ten or more names.",
        checks=(_check_elb_sharing,),
    ),
)
