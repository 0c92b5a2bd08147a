"""Countries of customers beside those of the hosting regions."""

from collections.abc import Iterator

from analysis.deployment import customers
from analysis.deployment.countries import country_name
from analysis.reporting.tables.marginal_note import (
    EXCEPTION,
    MEANING,
    MarginalNote,
    doubt,
    known_rows,
    subdomains,
)
from analysis.reporting.tables.report_table import ReportTable, Row, Rows, Tables, rows_of
from core.wording import SMALL, Portion, number

_NO_COUNTRY = "The country of the customers is not known for any subdomain"


def _customers(tables: Tables) -> str:
    row = next(r for r in rows_of(tables, "customers") if r["basis"] == "all")
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
    rows = rows_of(tables, "customer-countries")
    if not rows:
        return _NO_COUNTRY
    best = rows[0]
    away = Portion(best["other_country"], best["subdomains"], "", "").value
    names = number(best["subdomains"], "subdomain")
    verb = "has" if best["subdomains"] == 1 else "have"
    where = country_name(best["country"])
    return f"{names} {verb} most customers in {where}; {away} hosted outside it"


def _check_customers(rows: Rows) -> Iterator[str]:
    """Check that bases add up, and that names on another continent are in another country."""
    for column in ("known", "other_country", "other_continent"):
        for reading in {r["reading"] for r in rows["customers"]}:
            own = {r["basis"]: r[column] for r in rows["customers"] if r["reading"] == reading}
            if own.pop("all") != sum(own.values()):
                yield f"customers: {column} of the bases does not sum to all ({reading})"
    for table_id in ("customers", "customer-countries"):
        for row in rows[table_id]:
            whole = row.get("known", row["subdomains"])
            if not row["other_continent"] <= row["other_country"] <= whole:
                yield f"{table_id}: more names on another continent than in another country"


def _everyone(tables: Tables) -> Row | None:
    rows = (r for r in known_rows(tables, "customers") if r["basis"] == "all")
    return next((r for r in rows if r["known"]), None)


def _other_continent(tables: Tables) -> MarginalNote | None:
    row = _everyone(tables)
    if row is None:
        return None
    claim = Portion(
        row["other_continent"],
        row["known"],
        "subdomain whose customers’ country is known",
        "subdomains whose customers’ country is known",
    ).sentence("is hosted on another continent", "are hosted on another continent")
    return MarginalNote(MEANING, f"{claim}. Each of their requests crosses between continents.")


def _farthest_country(tables: Tables) -> MarginalNote | None:
    rows = [
        r
        for r in known_rows(tables, "customer-countries")
        if r["subdomains"] >= SMALL and r["other_continent"]
    ]
    worst = max(rows, key=lambda r: r["other_continent"] / r["subdomains"], default=None)
    if worst is None:
        return None
    away = Portion(worst["other_continent"], worst["subdomains"], "", "").value
    return MarginalNote(
        EXCEPTION,
        f"Customers in {country_name(worst['country'])} have the greatest share: {away} of their "
        f"{number(worst['subdomains'], 'subdomain')} are hosted on another continent.",
    )


def _customers_doubt(tables: Tables) -> MarginalNote | None:
    row = _everyone(tables)
    if row is None or row["known"] == row["subdomains"]:
        return None
    unknown = subdomains(row["subdomains"] - row["known"], row["subdomains"]).sentence(
        "has no known country of customers, or no region",
        "have no known country of customers, or no region",
    )
    return doubt(f"{unknown}; these are left out.")


TABLES = (
    ReportTable(
        "customers",
        customers.customers,
        _customers,
        "The country of a domain's customers is the imported one with the greatest weight. "
        "Without import, it is the country of the top-level domain, except for codes that are "
        "sold all over the world (.io, .tv). Names have the country of their domain. “Not in the "
        "country” has two readings: none of the regions of a name is there, or not all are. Names "
        "without a region are unknown. The published figures use the client shares of Alexa.",
        checks=(_check_customers,),
        shares=(("other_country", "other_country_share", "known"),),
        notes=(
            _other_continent,
            _farthest_country,
            _customers_doubt,
        ),
    ),
    ReportTable(
        "customer-countries",
        customers.customer_countries,
        _countries,
        "The same by country of the customers, for names with no region there. The countries with "
        "most names are listed.",
        shares=(("other_country", "other_country_share", "subdomains"),),
    ),
)
