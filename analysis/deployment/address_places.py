"""Cloud-using names and addresses as numbers, and where each address stands, zone included.

The views of ``analysis.deployment.cloud_names`` go in; small numbered tables come out, on which
zones, sharing, customers and outages are counted without a text being compared twice.
"""

from analysis.deployment.cloud_names import IN_CLOUD, IN_REGION, Connection

# A zone counts only where all labels of an address agree, and in the region that it is placed in.
_SPOTS = f"""
CREATE TEMP TABLE known AS
WITH labels AS (
  SELECT t.address, min(region) AS region, min(zone) AS zone
  FROM zones z JOIN address_texts t ON t.text = z.address WHERE zone <> ''
  GROUP BY t.address HAVING min(region) = max(region) AND min(zone) = max(zone)),
stands AS (
  SELECT address, kind = 'cloud' AS fronts,
    CASE WHEN {IN_CLOUD} THEN provider END AS provider,
    CASE WHEN {IN_REGION} THEN region END AS region
  FROM placed SEMI JOIN uses USING (name)
  UNION ALL SELECT address, false,
    CASE WHEN {IN_CLOUD} THEN provider END, CASE WHEN {IN_REGION} THEN region END
  FROM served WHERE address IS NOT NULL),
met AS (
  SELECT address, bool_or(fronts) AS fronts, any_value(provider) AS provider,
    any_value(region) AS region
  FROM stands GROUP BY address)
SELECT m.*, CASE WHEN l.region = CAST(m.region AS VARCHAR) THEN l.zone END AS zone
FROM met m LEFT JOIN labels l ON l.address = m.address;
CREATE TEMP TABLE seats AS
  SELECT CAST(row_number() OVER () AS UINTEGER) AS seat, provider, region, zone
  FROM (SELECT DISTINCT provider, region, zone FROM known
    UNION SELECT DISTINCT provider, NULL, NULL FROM placed WHERE kind = 'cdn');
CREATE TEMP TABLE spots AS
  SELECT address, fronts, seat, k.provider, k.region, k.zone
  FROM known k JOIN seats s ON k.provider IS NOT DISTINCT FROM s.provider
    AND k.region IS NOT DISTINCT FROM s.region AND k.zone IS NOT DISTINCT FROM s.zone;
DROP TABLE known;
"""
_TABLES = """
CREATE TEMP VIEW numbers AS SELECT name AS n, name, domain, class FROM cloud;
CREATE TEMP VIEW hosts AS SELECT domain AS d, domain, text FROM domain_texts;
CREATE TEMP TABLE pairs AS
  SELECT DISTINCT domain AS d, name AS n FROM uses;
CREATE TEMP TABLE ends AS
  SELECT n, seat, count(*) AS k
  FROM (
    SELECT DISTINCT p.name AS n, p.address, coalesce(e.seat, s.seat) AS seat
    FROM placed p SEMI JOIN cloud USING (name) JOIN spots s USING (address) LEFT JOIN (
      SELECT 'cdn' AS kind, provider, seat FROM seats WHERE region IS NULL) e
    ON e.kind = p.kind AND e.provider = p.provider)
  GROUP BY n, seat;
CREATE TEMP TABLE stays AS
  SELECT n, seat, provider, region, zone FROM ends JOIN seats USING (seat)
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

    ``numbers`` (n, name, domain, class); ``hosts`` (d, domain); ``pairs`` (d, n); ``seats`` (seat,
    provider, region, zone): every place that an address has, null where not in a cloud, region or
    identified zone; ``spots`` (address, fronts, seat, provider, region, zone) of names and
    name servers, ``fronts`` where a cloud-using name has it and no CDN; ``ends`` (n, seat, k): how
    many addresses of a name stand in a seat; ``stays`` (n, seat, provider, region, zone): its seats
    in regions; ``keepers`` (n, d): the closest domain whose name servers are known.
    """
    connection.execute(_SPOTS)
    connection.execute(_TABLES)
