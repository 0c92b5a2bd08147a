"""Headlines of zones, sharing, customers, outages and single figures, with the number in them."""

from collections.abc import Callable, Mapping
from typing import Any

from core.report_tables import TOP_DANGLING, Table
from core.wording import Portion, number

Tables = Mapping[str, Table]
Row = dict[str, Any]
_UNKNOWN = "unknown"
_NO_ZONE = "No address has an identified availability zone"
_NO_SERVER = "No name server of the cloud-using domains is known"
_NO_COUNTRY = "The country of the customers is not known for any subdomain"
_NO_PLACE = "No cloud-using subdomain depends on a known place"


def _rows(tables: Tables, table_id: str) -> list[Row]:
    table = tables[table_id]
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def _total(tables: Tables, column: str) -> int:
    rows = _rows(tables, "providers")
    return int(next((r[column] for r in rows if r["class"] == "total"), 0))


def _clouded(part: int, tables: Tables) -> Portion:
    whole = _total(tables, "subdomains")
    return Portion(part, whole, "cloud-using subdomain", "cloud-using subdomains")


def _zones(tables: Tables) -> str:
    rows = [r for r in _rows(tables, "zone-usage") if r["zone"] != _UNKNOWN]
    if not rows:
        return _NO_ZONE
    best = max(rows, key=lambda r: r["subdomains"])
    place = f"zone {best['zone']} of {best['region']}"
    lead = _clouded(best["subdomains"], tables).sentence(f"uses {place}", f"use {place}")
    return f"{lead}; {best['only_here']:,} {'has' if best['only_here'] == 1 else 'have'} no other"


def _zone_counts(tables: Tables) -> str:
    rows = _rows(tables, "zone-counts")
    found = _in_one_zone(rows, "zones", "subdomain")
    return found.sentence("uses one zone only", "use one zone only") if rows else _NO_ZONE


def _zone_means(tables: Tables) -> str:
    rows = _rows(tables, "domain-zone-means")
    found = _in_one_zone(rows, "mean_at_most", "domain")
    every = "every subdomain in one zone"
    return found.sentence(f"keeps {every}", f"keep {every}") if rows else _NO_ZONE


def _in_one_zone(rows: list[Row], zones: str, counted: str) -> Portion:
    """Return names with one zone among all with an identified zone."""
    whole = sum(r[f"{counted}s"] for r in rows)
    part = sum(r[f"{counted}s"] for r in rows if r[zones] == 1)
    known = "with an identified zone"
    return Portion(part, whole, f"{counted} {known}", f"{counted}s {known}")


def _top_zones(tables: Tables) -> str:
    rows = _rows(tables, "top-zones")
    if not rows:
        return "None of these domains uses Amazon"
    if all(r["zones"] == 0 for r in rows):
        return _NO_ZONE
    part = sum(r["z1"] > 0 for r in rows)
    portion = Portion(part, len(rows), "domain on Amazon", "best-ranked domains on Amazon")
    return portion.sentence("has a subdomain in one zone only", "have a subdomain in one zone only")


def _elb_sharing(tables: Tables) -> str:
    rows = _rows(tables, "elb-sharing")
    if not rows:
        return "No load balancer was found"
    whole = sum(r["elb_ips"] for r in rows)
    alone = sum(r["elb_ips"] for r in rows if r["names_at_most"] == 1)
    portion = Portion(whole - alone, whole, "load balancer’s address", "load balancers’ addresses")
    return portion.sentence("serves several subdomains", "serve several subdomains")


def _server_sharing(tables: Tables) -> str:
    rows = _rows(tables, "name-server-sharing")
    if not rows:
        return _NO_SERVER
    whole = sum(r["name_servers"] for r in rows)
    alone = sum(r["name_servers"] for r in rows if r["domains_at_most"] == 1)
    portion = Portion(whole - alone, whole, "name server", "name servers")
    return portion.sentence(
        "serves several cloud-using domains", "serve several cloud-using domains"
    )


def _operators(tables: Tables) -> str:
    rows = _rows(tables, "name-server-operators")
    if not rows:
        return _NO_SERVER
    best = rows[0]
    return _clouded(best["subdomains"], tables).sentence(
        f"has name servers of {best['operator']}", f"have name servers of {best['operator']}"
    )


def _customers(tables: Tables) -> str:
    row = next(r for r in _rows(tables, "customers") if r["basis"] == "all")
    if not row["known"]:
        return _NO_COUNTRY
    portion = Portion(
        row["other_country"],
        row["known"],
        "subdomain whose customers’ country is known",
        "subdomains whose customers’ country is known",
    )
    return portion.sentence("is hosted outside it", "are hosted outside it")


def _countries(tables: Tables) -> str:
    rows = _rows(tables, "customer-countries")
    if not rows:
        return _NO_COUNTRY
    best = rows[0]
    away = Portion(best["other_country"], best["subdomains"], "", "").value
    names = number(best["subdomains"], "subdomain")
    verb = "has" if best["subdomains"] == 1 else "have"
    return f"{names} {verb} most customers in {best['country']}; {away} hosted outside it"


def _outages(tables: Tables) -> str:
    rows = [r for r in _rows(tables, "outages") if r["kind"] == "region"]
    if not rows:
        return _NO_PLACE
    worst = max(rows, key=lambda r: r["down"])
    with_it = f"if {worst['target']} fails"
    return _clouded(worst["down"], tables).sentence(f"goes down {with_it}", f"go down {with_it}")


def _outage_domains(tables: Tables) -> str:
    rows = [r for r in _rows(tables, "outage-domains") if r["kind"] == "region"]
    if not rows:
        return _NO_PLACE
    worst = max(rows, key=lambda r: r["down"] + r["part"])
    whole = _total(tables, "domains")
    portion = Portion(
        worst["down"] + worst["part"], whole, "cloud-using domain", "cloud-using domains"
    )
    with_it = f"if {worst['target']} fails"
    return portion.sentence(f"loses at least a part {with_it}", f"lose at least a part {with_it}")


def _figures(tables: Tables) -> str:
    row = _rows(tables, "text-figures")[0]
    portion = Portion(row["part"], row["whole"], "cloud-using domain", "cloud-using domains")
    return portion.sentence(
        "ranks in the top quarter of the list", "rank in the top quarter of the list"
    )


def _dangling(tables: Tables) -> str:
    rows = _rows(tables, "dangling")
    if not rows:
        return "No alias leads to a provider’s name that does not exist"
    names, free = (
        tables["dangling"].n,
        sum(r["subdomains"] for r in rows if r["claimable"] == "yes"),
    )
    lead = "1 name has an alias" if names == 1 else f"{names:,} names have an alias"
    claimed = f"{min(free, names):,} of them could be taken over by anyone"
    return f"{lead} whose target does not exist; {claimed}"


def _dangling_names(tables: Tables) -> str:
    domains = {r["domain"] for r in _rows(tables, "dangling-names")}
    if not domains:
        return "No domain has an alias whose target does not exist"
    more = "at least " if tables["dangling-names"].n > TOP_DANGLING else ""
    whose = "one domain" if len(domains) == 1 else f"{more}{len(domains):,} domains"
    return f"Aliases whose target does not exist are in {whose}"


STUDY_HEADLINES: dict[str, Callable[[Tables], str]] = {
    "zone-usage": _zones,
    "zone-counts": _zone_counts,
    "domain-zone-means": _zone_means,
    "top-zones": _top_zones,
    "elb-sharing": _elb_sharing,
    "name-server-sharing": _server_sharing,
    "name-server-operators": _operators,
    "customers": _customers,
    "customer-countries": _countries,
    "outages": _outages,
    "outage-domains": _outage_domains,
    "dangling": _dangling,
    "dangling-names": _dangling_names,
    "text-figures": _figures,
}
