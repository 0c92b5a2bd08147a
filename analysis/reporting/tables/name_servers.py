"""Name servers: where they are hosted, how many a name relies on, who shares and operates them."""

from collections.abc import Iterator

from analysis.deployment import name_servers, sharing
from analysis.reporting.tables.marginal_note import (
    EXCEPTION,
    MEANING,
    MarginalNote,
    doubt,
    known_rows,
    subdomains,
)
from analysis.reporting.tables.report_table import (
    Claim,
    ReportTable,
    Rows,
    Tables,
    check_end,
    clouded,
    rows_of,
    total_of,
)
from core.wording import Portion

_NO_SERVER = "No name server of the cloud-using domains is known"


def servers_outside(tables: Tables) -> Claim | None:
    """Return the share of name servers outside of every known cloud; None without any."""
    rows = {r["location"]: r["name_servers"] for r in rows_of(tables, "name-servers")}
    if not rows["total"]:
        return None
    one, many = ("name server" + s + " of cloud-using domains" for s in ("", "s"))
    portion = Portion(rows["other"], rows["total"], one, many)
    return Claim(portion, "is not in any known cloud", "are not in any known cloud")


def _name_servers(tables: Tables) -> str:
    claim = servers_outside(tables)
    return claim.sentence() if claim else _NO_SERVER


def _server_counts(tables: Tables) -> str:
    rows = rows_of(tables, "name-server-counts")
    if not rows:
        return _NO_SERVER
    part = sum(r["subdomains"] for r in rows if 3 <= r["name_servers"] <= 10)
    whole = sum(r["subdomains"] for r in rows)
    portion = Portion(part, whole, "cloud-using subdomain", "cloud-using subdomains")
    return portion.sentence(
        "relies on three to ten name servers", "rely on three to ten name servers"
    )


def _server_sharing(tables: Tables) -> str:
    rows = rows_of(tables, "name-server-sharing")
    if not rows:
        return _NO_SERVER
    whole = sum(r["name_servers"] for r in rows)
    alone = sum(r["name_servers"] for r in rows if r["domains_at_most"] == 1)
    portion = Portion(whole - alone, whole, "name server", "name servers")
    return portion.sentence(
        "serves several cloud-using domains", "serve several cloud-using domains"
    )


def _operators(tables: Tables) -> str:
    rows = rows_of(tables, "name-server-operators")
    if not rows:
        return _NO_SERVER
    best = rows[0]
    return clouded(best["subdomains"], tables).sentence(
        f"has name servers of {best['operator']}", f"have name servers of {best['operator']}"
    )


def _check_servers(rows: Rows) -> Iterator[str]:
    *places, total = rows["name-servers"]
    got = sum(r["name_servers"] for r in places)
    if got != total["name_servers"]:
        yield f"name-servers: places sum to {got}, not {total['name_servers']}"


def _check_server_sharing(rows: Rows) -> Iterator[str]:
    """Each name server of section 4.4.1 is in one class."""
    servers = sum(r["name_servers"] for r in rows["name-server-sharing"])
    total = sum(r["name_servers"] for r in rows["name-servers"] if r["location"] == "total")
    if servers != total:
        yield f"name-server-sharing: {servers} name servers, not all {total}"
    yield from check_end(rows, "name-server-sharing")


def _check_operators(rows: Rows) -> Iterator[str]:
    everyone = sum(r["subdomains"] for r in rows["name-server-counts"])
    alone = sum(r["only_here"] for r in rows["name-server-operators"])
    if alone > everyone:
        yield f"name-server-operators: {alone} names on one operator alone, of {everyone}"
    for row in rows["name-server-operators"]:
        if row["only_here"] > row["subdomains"] or row["subdomains"] > everyone:
            yield f"name-server-operators: more names with {row['operator']} than there are"


def _operator(tables: Tables) -> MarginalNote | None:
    rows = known_rows(tables, "name-server-operators")
    best = max(rows, key=lambda r: r["only_here"] or 0, default=None)
    if best is None or not best["only_here"] or "providers" not in tables:
        return None
    claim = subdomains(best["only_here"], total_of(tables)).sentence(
        "has no name server of another operator", "have no name server of another operator"
    )
    return MarginalNote(
        MEANING,
        f"{claim} than {best['operator']}: no other server answers when it fails.",
        "outages",
    )


def _fewest_servers(tables: Tables) -> MarginalNote | None:
    rows = known_rows(tables, "name-server-counts")
    whole = sum(r["subdomains"] for r in rows)
    few = sum(r["subdomains"] for r in rows if r["name_servers"] < 2)
    many = max((r["name_servers"] for r in rows), default=0)
    if not whole:
        return None
    claim = subdomains(few, whole).sentence("has a single name server", "have a single name server")
    return MarginalNote(EXCEPTION, f"{claim}; the most that one has is {many:,}.")


def _servers_doubt(tables: Tables) -> MarginalNote | None:
    rows = {r["location"]: r["name_servers"] or 0 for r in known_rows(tables, "name-servers")}
    if not rows.get("unresolved"):
        return None
    claim = Portion(rows["unresolved"], rows["total"], "name server", "name servers").sentence(
        "has no address that was found", "have no address that was found"
    )
    return doubt(f"{claim}; where they are is not known.")


TABLES = (
    ReportTable(
        "name-servers",
        name_servers.name_servers,
        _name_servers,
        "Distinct host names in the NS answers of cloud-using domains. Their addresses show where "
        "they are; the first row that applies counts, from CloudFront down. In 2013 Route 53 was "
        "in the range of CloudFront, so the published 2,062 hold both.",
        checks=(_check_servers,),
        notes=(
            _operator,
            _fewest_servers,
            _servers_doubt,
        ),
    ),
    ReportTable(
        "name-server-counts",
        name_servers.name_server_counts,
        _server_counts,
        "Name servers of the domain of each cloud-using name. Names of domains without an NS "
        "answer are not in n.",
        distribution=("", "subdomains"),
    ),
    ReportTable(
        "name-server-sharing",
        sharing.name_server_sharing,
        _server_sharing,
        "Distinct cloud-using domains that each name server serves, in classes by their upper "
        "edge. No published figure says more than that many share the same.",
        checks=(_check_server_sharing,),
    ),
    ReportTable(
        "name-server-operators",
        sharing.name_server_operators,
        _operators,
        "An operator is the registered domain of the host name of a server; a few operators with "
        "many such domains are counted as one. A customer's own name for a rented server hides "
        "its operator, so the large operators are lower bounds. “Only here” counts names whose "
        "name servers all have one operator.",
        checks=(_check_operators,),
        shares=(("only_here", "only_here_share", "subdomains"),),
    ),
)
