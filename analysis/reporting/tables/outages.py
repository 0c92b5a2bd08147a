"""Names and domains that an outage takes down."""

from collections.abc import Iterator

from analysis.outages import outages
from analysis.reporting.tables.marginal_note import (
    EXCEPTION,
    MEANING,
    MarginalNote,
    doubt,
    known_rows,
    subdomains,
)
from analysis.reporting.tables.report_table import (
    ReportTable,
    Row,
    Rows,
    Tables,
    clouded,
    rows_of,
    total_of,
)
from core.wording import Portion

_NO_PLACE = "No cloud-using subdomain depends on a known place"


def _outages(tables: Tables) -> str:
    rows = [r for r in rows_of(tables, "outages") if r["kind"] == "region"]
    if not rows:
        return _NO_PLACE
    worst = max(rows, key=lambda r: r["down"])
    with_it = f"if {worst['target']} fails"
    return clouded(worst["down"], tables).sentence(f"goes down {with_it}", f"go down {with_it}")


def _outage_domains(tables: Tables) -> str:
    rows = [r for r in rows_of(tables, "outage-domains") if r["kind"] == "region"]
    if not rows:
        return _NO_PLACE
    worst = max(rows, key=lambda r: r["down"] + r["part"])
    whole = total_of(tables, "domains")
    portion = Portion(
        worst["down"] + worst["part"], whole, "cloud-using domain", "cloud-using domains"
    )
    with_it = f"if {worst['target']} fails"
    return portion.sentence(f"loses at least a part {with_it}", f"lose at least a part {with_it}")


def _check_outages(rows: Rows) -> Iterator[str]:
    """Check that users of a region or zone are affected by its outage; others lose name servers."""
    names = {
        **{("region", r["provider"], r["region"]): r["subdomains"] for r in rows["regions"]},
        **{
            ("provider", r["class"].split(" ")[0], r["class"].split(" ")[0]): r["subdomains"]
            for r in rows["providers"]
            if r["class"].endswith(" total")
        },
    }
    for row in rows["outages"]:
        hit = row["down"] + row["part"]
        users = names.get((row["kind"], row["provider"], row["target"]))
        if users is not None and not users <= hit <= users + row["by_name_servers"]:
            yield f"outages: {hit} names are hit by {row['target']}, which {users} use"
        if not row["by_name_servers"] <= row["down"] <= row["down_at_most"]:
            yield f"outages: the names that go down with {row['target']} do not add up"


def _check_outage_domains(rows: Rows) -> Iterator[str]:
    """The same causes in the same order, and no more domains than there are."""
    keys = ("kind", "provider", "target")
    if [[r[k] for k in keys] for r in rows["outages"]] != [
        [r[k] for k in keys] for r in rows["outage-domains"]
    ]:
        yield "outage-domains: not the causes of outages"
    most = next((r["domains"] for r in rows["providers"] if r["class"] == "total"), 0)
    for row in rows["outage-domains"]:
        if row["down"] + row["part"] > most:
            yield f"outage-domains: more domains are hit by {row['target']} than all {most}"
        if not row["down"] <= row["down_cloud_only"] <= row["down"] + row["part"]:
            yield f"outage-domains: the domains that go down with {row['target']} do not add up"


def _worst(tables: Tables, kinds: tuple[str, ...]) -> Row | None:
    rows = [r for r in known_rows(tables, "outages") if r["kind"] in kinds]
    return max(rows, key=lambda r: r["down"], default=None)


def _worst_zone_and_region(tables: Tables) -> MarginalNote | None:
    region, zone = _worst(tables, ("region",)), _worst(tables, ("zone",))
    if region is None or not region["part"] or "providers" not in tables:
        return None
    whole = total_of(tables)
    text = subdomains(region["part"], whole).sentence(
        f"loses a part of its addresses with {region['target']} and stays up",
        f"lose a part of their addresses with {region['target']} and stay up",
    )
    if zone is not None and zone["down"]:
        lost = Portion(zone["down"], whole, "", "").value
        text += f". The worst zone, {zone['target']}, takes {lost} down"
    return MarginalNote(MEANING, f"{text}.")


def _without_servers(tables: Tables) -> MarginalNote | None:
    row = _worst(tables, ("operator",))
    if row is None or not row["down"] or "providers" not in tables:
        return None
    claim = subdomains(row["down"], total_of(tables)).sentence(
        f"goes down with the name servers of {row['target']}",
        f"go down with the name servers of {row['target']}",
    )
    return MarginalNote(
        EXCEPTION,
        f"{claim}, wherever it is hosted."
        if row["down"] == 1
        else f"{claim}, wherever they are hosted.",
        "name-servers",
    )


def _outages_doubt(tables: Tables) -> MarginalNote | None:
    rows = [r for r in known_rows(tables, "outages") if r["down_at_most"] > r["down"]]
    widest = max(rows, key=lambda r: r["down_at_most"] - r["down"], default=None)
    if widest is None:
        return None
    return doubt(
        f"{widest['down']:,} to {widest['down_at_most']:,} subdomains go down with "
        f"{widest['target']}: the zone of some addresses is not known."
    )


TABLES = (
    ReportTable(
        "outages",
        outages.outages,
        _outages,
        "A name is down when all its addresses are lost, or all name servers of its domain. It is "
        "partly down when some addresses are lost; for an operator, some name servers. A server "
        "is lost when all its known addresses are. Addresses without a known zone survive a "
        "zone's failure; “at most” counts them as lost. Shares are of all cloud-using names. The "
        "published 16.1 % for us-east-1a is an error (see zones).",
        checks=(_check_outages,),
        notes=(
            _worst_zone_and_region,
            _without_servers,
            _outages_doubt,
        ),
    ),
    ReportTable(
        "outage-domains",
        outages.outage_domains,
        _outage_domains,
        "A domain is down when all its names with an address are, and partly down when any is "
        "hit. The second reading looks at its cloud-using names only. For us-east-1, the text "
        "says “61 % of EC2 domains, 2.3 % of the list”. No published table gives that: 67 % of "
        "EC2 domains have a name there. Dependencies between domains are not counted, so these "
        "are lower bounds.",
        checks=(_check_outage_domains,),
    ),
)
