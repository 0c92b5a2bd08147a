"""IMC'13 section 4.4.1 and Figure 11: location of name servers, and their number per name."""

from analysis.deployment.cloud_names import IN_CLOUD, Connection, fetch
from core.report_tables import SPEC_BY_ID, Cell, Table, cumulate, share

LOCATIONS = ("aws cloudfront", "aws route53", "aws", "azure", "google", "other", "unresolved")
_PLACES = f"""
WITH located AS (
  SELECT server, address, service, CASE WHEN {IN_CLOUD} THEN provider END AS cloud
  FROM served SEMI JOIN uses USING (domain)),
server_kinds AS (
  SELECT server,
    bool_or(cloud = 'aws' AND service = 'CLOUDFRONT') AS edge,
    bool_or(cloud = 'aws' AND starts_with(service, 'ROUTE53')) AS route53,
    bool_or(cloud = 'aws') AS aws, bool_or(cloud = 'azure') AS azure,
    bool_or(cloud = 'google') AS google, bool_or(address IS NOT NULL) AS resolved
  FROM located GROUP BY server)
SELECT CASE WHEN edge THEN 'aws cloudfront' WHEN route53 THEN 'aws route53' WHEN aws THEN 'aws'
            WHEN azure THEN 'azure' WHEN google THEN 'google' WHEN resolved THEN 'other'
            ELSE 'unresolved' END, count(*)
FROM server_kinds GROUP BY 1
"""
_COUNTS = """
WITH sizes AS (SELECT domain, count(DISTINCT server) AS n FROM served GROUP BY domain),
closest AS (
  SELECT name, arg_max(n, length(text)) AS n
  FROM uses JOIN sizes USING (domain) JOIN domain_texts USING (domain) GROUP BY name)
SELECT n, count(*) FROM closest GROUP BY n
"""


def name_servers(connection: Connection) -> Table:
    """Distinct name server names of cloud-using domains, by place."""
    found = dict(fetch(connection, _PLACES))
    total = sum(found.values())
    rows: list[tuple[Cell, ...]] = [
        (place, found.get(place, 0), share(found.get(place, 0), total)) for place in LOCATIONS
    ]
    rows.append(("total", total, share(total, total)))
    spec = SPEC_BY_ID["name-servers"]
    return Table(spec.id, spec.columns, tuple(rows), total)


def name_server_counts(connection: Connection) -> Table:
    """Name servers per cloud-using name; names without an NS answer are left out of n."""
    counts = dict(fetch(connection, _COUNTS))
    spec = SPEC_BY_ID["name-server-counts"]
    return Table(spec.id, spec.columns, tuple(cumulate(counts)), sum(counts.values()))
