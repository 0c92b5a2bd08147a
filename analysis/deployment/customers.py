"""IMC'13 section 4.4.2: the customer country of a name, and whether it is hosted there.

A domain's customer country is the imported one of largest weight, else that of its top-level
domain; its names inherit it.
"""

from analysis.deployment.cloud_names import Connection, count, fetch
from analysis.deployment.countries import name_countries
from core.report_tables import SPEC_BY_ID, TOP_COUNTRIES, Cell, Table, share

BASES = ("import", "cctld")
READINGS = ("nowhere in it", "not only in it")
_TABLES = """
CREATE TEMP TABLE customer_countries AS
WITH heaviest AS (
  SELECT domain, upper(arg_max(country, (weight, country))) AS country FROM customers
  WHERE weight > 0 GROUP BY domain),
domain_countries AS (
  SELECT h.d, coalesce(w.country, t.country) AS country,
    CASE WHEN w.country IS NULL THEN 'cctld' ELSE 'import' END AS basis
  FROM cloud_domains h LEFT JOIN heaviest w ON w.domain = h.text
  LEFT JOIN tlds t ON t.tld = split_part(h.text, '.', -1)
  WHERE coalesce(w.country, t.country) IS NOT NULL)
SELECT n, basis, country, continent FROM cloud_names JOIN cloud_domains USING (domain)
  JOIN domain_countries USING (d)
LEFT JOIN continents USING (country);
CREATE TEMP TABLE customer_distances AS
WITH name_regions AS (
  SELECT n, l.country, continent
  FROM region_locations JOIN region_countries l USING (provider, region)
    LEFT JOIN continents USING (country))
SELECT n, any_value(basis) AS basis, any_value(h.country) AS country,
  any_value(h.continent) AS continent,
  bool_or(l.country = h.country) AS somewhere, bool_and(l.country = h.country) AS everywhere,
  bool_or(coalesce(l.continent = h.continent, false)) AS near,
  bool_and(coalesce(l.continent = h.continent, false)) AS all_near
FROM customer_countries h JOIN name_regions l USING (n) GROUP BY n
"""
_SUMS = """
SELECT coalesce(basis, 'all'), count(*),
  count(*) FILTER (NOT somewhere), count(*) FILTER (NOT near),
  count(*) FILTER (NOT everywhere), count(*) FILTER (NOT all_near)
FROM customer_distances GROUP BY GROUPING SETS ((basis), ())
"""
_COUNTRIES = f"""
SELECT country, any_value(continent), count(*) AS names,
  count(*) FILTER (NOT somewhere), count(*) FILTER (NOT near)
FROM customer_distances GROUP BY country ORDER BY names DESC, country LIMIT {TOP_COUNTRIES}
"""


def locate_customers(connection: Connection) -> None:
    """Add ``customer_countries`` and ``customer_distances`` to the tables of
    ``analysis.deployment.address_places``."""
    name_countries(connection)
    connection.execute(_TABLES)


def customers(connection: Connection) -> Table:
    """Names hosted away from their customers, by where the country is from; both readings."""
    n = count(connection, "SELECT count(*) FROM cloud_names")
    found = {basis: counts for basis, *counts in fetch(connection, _SUMS)}
    rows: list[tuple[Cell, ...]] = []
    for basis in (*BASES, "all"):
        known, *away = found.get(basis, (0, 0, 0, 0, 0))
        for reading, pair in zip(READINGS, (away[:2], away[2:]), strict=True):
            abroad, afar = pair
            shares = (abroad, share(abroad, known), afar, share(afar, known))
            rows.append((basis, reading, n, known, share(known, n), *shares))
    return Table("customers", SPEC_BY_ID["customers"].columns, tuple(rows), n)


def customer_countries(connection: Connection) -> Table:
    """The same by customer country, for names that are hosted nowhere in it."""
    rows: list[tuple[Cell, ...]] = [
        (country, continent, names, abroad, share(abroad, names), afar, share(afar, names))
        for country, continent, names, abroad, afar in fetch(connection, _COUNTRIES)
    ]
    n = count(connection, "SELECT count(*) FROM customer_distances")
    return Table("customer-countries", SPEC_BY_ID["customer-countries"].columns, tuple(rows), n)
