"""Tables of cloud-using names, addresses and their locations (provider, region, zone) by number.

Zones, sharing, customers and outages are counted on these integer keys, derived from the views of
``analysis.deployment.cloud_names``.
"""

from analysis.deployment.cloud_names import IN_CLOUD, IN_REGION, Connection

# A zone counts only where all labels of an address agree, and in the region that it is placed in.
_SPOTS = f"""
CREATE TEMP TABLE address_place AS
WITH labels AS (
  SELECT t.address, min(region) AS region, min(zone) AS zone
  FROM zones z JOIN address_texts t ON t.text = z.address WHERE zone <> ''
  GROUP BY t.address HAVING min(region) = max(region) AND min(zone) = max(zone)),
located AS (
  SELECT address, kind = 'cloud' AS fronts,
    CASE WHEN {IN_CLOUD} THEN provider END AS provider,
    CASE WHEN {IN_REGION} THEN region END AS region
  FROM placed SEMI JOIN uses USING (name)
  UNION ALL SELECT address, false,
    CASE WHEN {IN_CLOUD} THEN provider END, CASE WHEN {IN_REGION} THEN region END
  FROM served WHERE address IS NOT NULL),
merged AS (
  SELECT address, bool_or(fronts) AS fronts, any_value(provider) AS provider,
    any_value(region) AS region
  FROM located GROUP BY address)
SELECT m.*, CASE WHEN l.region = CAST(m.region AS VARCHAR) THEN l.zone END AS zone
FROM merged m LEFT JOIN labels l ON l.address = m.address;
CREATE TEMP TABLE locations AS
  SELECT CAST(row_number() OVER () AS UINTEGER) AS location_id, provider, region, zone
  FROM (SELECT DISTINCT provider, region, zone FROM address_place
    UNION SELECT DISTINCT provider, NULL, NULL FROM placed WHERE kind = 'cdn');
CREATE TEMP TABLE address_locations AS
  SELECT address, fronts, location_id, k.provider, k.region, k.zone
  FROM address_place k JOIN locations s ON k.provider IS NOT DISTINCT FROM s.provider
    AND k.region IS NOT DISTINCT FROM s.region AND k.zone IS NOT DISTINCT FROM s.zone;
DROP TABLE address_place;
"""
_TABLES = """
CREATE TEMP VIEW cloud_names AS SELECT name AS n, name, domain, class FROM cloud;
CREATE TEMP VIEW cloud_domains AS SELECT domain AS d, domain, text FROM domain_texts;
CREATE TEMP TABLE domain_names AS
  SELECT DISTINCT domain AS d, name AS n FROM uses;
CREATE TEMP TABLE name_locations AS
  SELECT n, location_id, count(*) AS k
  FROM (
    SELECT DISTINCT p.name AS n, p.address, coalesce(e.location_id, s.location_id) AS location_id
    FROM placed p SEMI JOIN cloud USING (name) JOIN address_locations s USING (address) LEFT JOIN (
      SELECT 'cdn' AS kind, provider, location_id FROM locations WHERE region IS NULL) e
    ON e.kind = p.kind AND e.provider = p.provider)
  GROUP BY n, location_id;
CREATE TEMP TABLE region_locations AS
  SELECT n, location_id, provider, region, zone FROM name_locations JOIN locations
    USING (location_id)
  WHERE region IS NOT NULL;
CREATE TEMP TABLE ns_domains AS
  WITH with_servers AS (SELECT DISTINCT domain FROM served),
  closest AS (SELECT name, arg_max(domain, length(text)) AS domain
              FROM uses SEMI JOIN with_servers USING (domain) JOIN domain_texts USING (domain)
              GROUP BY name)
  SELECT name AS n, domain AS d FROM closest;
"""


def create_location_tables(connection: Connection) -> None:
    """Create the tables on a connection of ``open_names``, one line each:

    ``cloud_names`` (n, name, domain, class), ``cloud_domains`` (d, domain, text);
    ``domain_names`` (d, n);
    ``locations`` (location_id, provider, region, zone): distinct locations of addresses, null
    outside the clouds, regions or identified zones;
    ``address_locations`` (address, fronts, location_id, provider, region, zone) of names and name
    servers, ``fronts`` for addresses of cloud-using names outside CDNs;
    ``name_locations`` (n, location_id, k): k addresses of name n at a location;
    ``region_locations`` (n, location_id, provider, region, zone): those within regions;
    ``ns_domains`` (n, d): the closest domain with known name servers.
    """
    connection.execute(_SPOTS)
    connection.execute(_TABLES)
