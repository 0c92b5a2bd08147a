"""What goes down, fully or partly, if a provider, region, zone or name-server operator fails.

A name is down when all its addresses are lost, or all name servers of its domain; it is partly
down when some addresses are. ``docs/methods/outages.md`` has the formulas.
"""

from collections.abc import Iterator

from analysis.deployment.cloud_names import Connection, count, fetch
from core.report_tables import SPEC_BY_ID, TOP_OPERATORS, Cell, Table, share

KINDS = ("provider", "region", "zone", "operator")
# A zone's own name may carry its region already (us-east-1a).
_ZONE = "CASE WHEN starts_with(zone, region) THEN zone ELSE region || ' ' || zone END"
_FAILED_LOCATIONS = f"""
CREATE TEMP TABLE targets AS
WITH placed AS (
  SELECT CAST(provider AS VARCHAR) AS provider, CAST(region AS VARCHAR) AS region, zone
    FROM locations)
SELECT row_number() OVER () AS t, * FROM (
  SELECT DISTINCT 'provider' AS kind, provider, provider AS target, NULL AS region, NULL AS zone
    FROM placed WHERE provider IS NOT NULL
  UNION ALL SELECT DISTINCT 'region', provider, region, region, NULL
    FROM placed WHERE region IS NOT NULL
  UNION ALL SELECT DISTINCT 'zone', provider, {_ZONE}, region, zone
    FROM placed WHERE zone IS NOT NULL
  UNION ALL SELECT DISTINCT 'operator', NULL, operator, NULL, NULL FROM server_operators);
CREATE TEMP TABLE failed_locations AS
  SELECT t, location_id, true AS sure FROM locations JOIN targets USING (provider)
    WHERE kind = 'provider'
  UNION ALL SELECT t, location_id, true FROM locations JOIN targets USING (provider, region)
    WHERE kind = 'region'
  UNION ALL SELECT t, location_id, true FROM locations JOIN targets USING (provider, region, zone)
    WHERE kind = 'zone'
  UNION ALL SELECT t, location_id, false FROM locations s JOIN targets g USING (provider, region)
    WHERE kind = 'zone' AND s.zone IS NULL;
"""
# ``lost``: servers of a domain that a cause takes away, of ``whole``. An address that is not known
# cannot be lost, so a server without one survives all but its operator.
_SERVERS = """
CREATE TEMP TABLE lost_servers AS
WITH server_addresses AS (
  SELECT DISTINCT server, address FROM served SEMI JOIN cloud_domains USING (domain)
  WHERE address IS NOT NULL),
sized AS (SELECT server, count(*) AS whole FROM server_addresses GROUP BY server),
failed_servers AS (
  SELECT t, server FROM server_addresses JOIN address_locations USING (address)
    JOIN failed_locations USING (location_id) JOIN sized
  USING (server) WHERE sure GROUP BY t, server HAVING count(*) = any_value(whole)
  UNION ALL SELECT DISTINCT t, server FROM server_operators o
    JOIN targets g ON g.target = o.operator
  WHERE kind = 'operator'),
counted AS (SELECT d, count(*) AS whole FROM server_operators GROUP BY d)
SELECT t, d, count(*) = any_value(whole) AS silent
FROM failed_servers JOIN server_operators USING (server) JOIN counted USING (d) GROUP BY t, d
"""
# ``affected``: some of it is certainly lost; ``front``: all its own addresses are; ``silent``: no
# name server of its domain is left; ``at_most``: down if all addresses of unknown zone are lost
# too.
# Most names have one location, so nothing has to be added up. Operators take no address away.
_EFFECTS = """
CREATE TEMP TABLE outage_effects AS
WITH sized AS (SELECT n, sum(k) AS whole, count(*) = 1 AS is_single FROM name_locations GROUP BY n),
hit AS (
  SELECT t, n, coalesce(sum(k) FILTER (sure), 0) AS lost, sum(k) AS most
  FROM name_locations SEMI JOIN (FROM sized WHERE NOT is_single) USING (n)
    JOIN failed_locations USING (location_id)
  GROUP BY t, n),
found AS (
  SELECT t, n, sure AS affected, sure AS front, true AS most
  FROM name_locations SEMI JOIN (FROM sized WHERE is_single) USING (n)
    JOIN failed_locations USING (location_id)
  UNION ALL SELECT t, n, lost > 0, lost = whole, most = whole
  FROM hit JOIN sized USING (n) WHERE lost > 0 OR most = whole),
unserved AS (
  SELECT t, n, silent, kind FROM lost_servers JOIN ns_domains USING (d) JOIN targets USING (t)
  WHERE silent OR kind = 'operator')
SELECT t, n, true AS affected, false AS front, silent, silent AS at_most
FROM unserved WHERE kind = 'operator'
UNION ALL
SELECT t, n, coalesce(affected, false) OR m.n IS NOT NULL AS affected, coalesce(front, false) AS
front,
  m.n IS NOT NULL AS silent, coalesce(most, false) OR m.n IS NOT NULL AS at_most
FROM found f FULL JOIN (FROM unserved WHERE kind <> 'operator') m USING (t, n);
CREATE TEMP TABLE outage_counts AS
  SELECT t, count(*) AS n, count(*) FILTER (front OR silent) AS down,
    count(*) FILTER (affected AND NOT front AND NOT silent) AS part, count(*) FILTER (at_most) AS
    most,
    count(*) FILTER (silent AND NOT front) AS unserved
  FROM outage_effects GROUP BY t;
"""
_NAMES = "SELECT t, down, part, most, unserved FROM outage_counts"
_DOMAINS = """
WITH all_names AS (
  SELECT domain AS d, count(*) AS whole FROM (
    SELECT domain, name FROM uses UNION SELECT domain, name FROM elsewhere)
  WHERE domain IS NOT NULL GROUP BY domain),
own AS (SELECT d, count(*) AS cloud_using FROM domain_names GROUP BY d),
affected_domains AS (
  SELECT t, d, count(*) FILTER (front OR silent) AS down, false AS silent
  FROM outage_effects JOIN domain_names USING (n) WHERE affected GROUP BY t, d
  UNION ALL SELECT t, d, 0, true FROM lost_servers WHERE silent),
per AS (SELECT t, d, sum(down) AS down, bool_or(silent) AS silent FROM affected_domains
  GROUP BY t, d)
SELECT t, count(*) FILTER (silent OR down = whole), count(*) FILTER (NOT silent AND down < whole),
  count(*) FILTER (silent OR down = cloud_using)
FROM per JOIN all_names USING (d) JOIN own USING (d) GROUP BY t
"""
_TARGETS = f"""
SELECT t, kind, provider, target FROM targets JOIN (
  SELECT t, n, row_number() OVER (PARTITION BY kind ORDER BY n DESC, target, provider) AS place
  FROM targets JOIN (
    SELECT t, n FROM outage_counts
    UNION ALL SELECT t, 0 FROM targets ANTI JOIN outage_counts USING (t)) USING (t)) USING (t)
WHERE kind <> 'operator' OR place <= {TOP_OPERATORS}
ORDER BY list_position({list(KINDS)}, kind), place
"""


def compute_outages(connection: Connection) -> None:
    """Add ``targets``, ``failed_locations``, ``lost_servers``, ``outage_effects`` and their
    counts, ``outage_counts``.

    Needs ``sharing.derive_operators``.
    """
    for query in (_FAILED_LOCATIONS, _SERVERS, _EFFECTS):
        connection.execute(query)


def outages(connection: Connection) -> Table:
    """Cloud-using names by what an outage does to them."""
    n = count(connection, "SELECT count(*) FROM cloud_names")
    rows = tuple(
        (*target, down, share(down, n), part, share(part, n), most, silent)
        for target, (down, part, most, silent) in _counted(connection, _NAMES)
    )
    return Table("outages", SPEC_BY_ID["outages"].columns, rows, n)


def outage_domains(connection: Connection) -> Table:
    """Cloud-using domains by what an outage does to them; both readings of "down"."""
    n = count(connection, "SELECT count(*) FROM cloud_domains")
    rows = tuple(
        (*target, down, share(down, n), part, share(part, n), narrow, share(narrow, n))
        for target, (down, part, narrow, _) in _counted(connection, _DOMAINS)
    )
    return Table("outage-domains", SPEC_BY_ID["outage-domains"].columns, rows, n)


def _counted(
    connection: Connection, query: str
) -> Iterator[tuple[tuple[Cell, ...], tuple[int, int, int, int]]]:
    """(kind, provider, target) of every shown target with its counts, zero where nothing falls."""
    found = {t: (*counts, 0, 0, 0)[:4] for t, *counts in fetch(connection, query)}
    for t, *target in fetch(connection, _TARGETS):
        yield tuple(target), found.get(t, (0, 0, 0, 0))
