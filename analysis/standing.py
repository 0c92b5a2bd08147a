"""Cloud-using names and addresses as numbers, and where each address stands, zone included.

The views of ``analysis.names`` go in; small numbered tables come out, on which zones, sharing,
customers and outages are counted without a text being compared twice.
"""

from analysis.names import IN_CLOUD, IN_REGION, Connection

# A zone counts only where all labels of an address agree, and in the region that it is placed in.
_SPOTS = f"""
CREATE TEMP TABLE spots AS
WITH labels AS (
  SELECT t.address, min(region) AS region, min(zone) AS zone
  FROM zones z JOIN address_texts t ON t.text = z.address WHERE zone <> ''
  GROUP BY t.address HAVING min(region) = max(region) AND min(zone) = max(zone)),
stands AS (
  SELECT address, provider, region, kind FROM placed SEMI JOIN uses USING (name)
  UNION ALL SELECT address, provider, region, kind FROM served WHERE address IS NOT NULL),
known AS (
  SELECT address, any_value(CASE WHEN {IN_CLOUD} THEN provider END) AS provider,
    any_value(CASE WHEN {IN_REGION} THEN region END) AS region
  FROM stands GROUP BY address)
SELECT k.address AS spot, k.*, l.zone
FROM known k LEFT JOIN labels l ON l.address = k.address AND l.region = k.region
"""
_TABLES = """
CREATE TEMP VIEW numbers AS SELECT name AS n, name, domain, class FROM cloud;
CREATE TEMP VIEW hosts AS SELECT domain AS d, domain, text FROM domain_texts;
CREATE TEMP TABLE pairs AS
  SELECT DISTINCT domain AS d, name AS n FROM uses;
CREATE TEMP TABLE ends AS
  SELECT DISTINCT name AS n, address AS spot FROM placed SEMI JOIN cloud USING (name);
CREATE TEMP TABLE stays AS
  SELECT DISTINCT n, provider, region, zone FROM ends JOIN spots USING (spot)
  WHERE region IS NOT NULL;
CREATE TEMP TABLE keepers AS
  WITH kept AS (SELECT DISTINCT domain FROM served),
  closest AS (SELECT name, arg_max(domain, length(text)) AS domain
              FROM uses SEMI JOIN kept USING (domain) JOIN domain_texts USING (domain)
              GROUP BY name)
  SELECT name AS n, domain AS d FROM closest;
"""


def number_names(connection: Connection) -> None:
    """Add to the connection of ``open_names``:

    ``numbers`` (n, name, domain, class); ``hosts`` (d, domain); ``pairs`` (d, n); ``spots`` (spot,
    address, provider, region, zone) of names and name servers, null where not in a cloud, region
    or identified zone; ``ends`` (n, spot): all addresses of each name; ``stays`` (n, provider,
    region, zone); ``keepers`` (n, d): the closest domain whose name servers are known.
    """
    connection.execute(_SPOTS)
    connection.execute(_TABLES)
