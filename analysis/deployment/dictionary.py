"""Dictionary-encode the texts of a survey: integer keys for domains, names and addresses.

All other tables are computed on the keys. Domains are numbered in the order of their texts, so
that sorting by number sorts by text.
"""

import duckdb

from core.providers import PROVIDERS

# A server may answer with, or give away in a transfer, what does not lie in the domain.
IN_DOMAIN = "(name = domain OR ends_with(name, '.' || domain))"
IN_CLOUD = "kind IN ('cloud', 'cdn')"
# Front ends within a provider's region ranges that are a CDN: the address depends on the client,
# as one in a CDN's range does.
EDGE_LABELS = ("cdn", "front-door")
# The lake's ``placements``, where what follows such a front end is of kind ``cdn``.
SITED = f"""(
  SELECT p.* REPLACE (CASE WHEN kind = 'cloud' AND e.name IS NOT NULL THEN 'cdn' ELSE kind END
    AS kind)
  FROM placements p LEFT JOIN (
    SELECT DISTINCT domain, name, provider FROM fronts WHERE label IN {EDGE_LABELS}) e
  USING (domain, name, provider))"""
# Texts of which there are few, as numbers that read as texts; in the order of the alphabet, so that
# the least of them is the same.
CODED = """CAST(provider AS provider_code) AS provider,
  CAST(region AS region_code) AS region, CAST(kind AS kind_code) AS kind"""
# A name identified by its alias only may have a provider without any address.
FRONT = """TRY_CAST(provider AS provider_code) AS provider,
  CAST(label AS label_code) AS label"""
_CODES = """
CREATE TYPE {name}_code AS ENUM (
  SELECT DISTINCT {name} FROM (
    SELECT {name} FROM {source} UNION ALL SELECT unnest(CAST({known} AS VARCHAR[])))
  WHERE {name} IS NOT NULL ORDER BY {name})
"""
_KNOWN = {
    "provider": list(PROVIDERS),
    "region": [""],
    "kind": ["cloud", "cdn", "other"],
    "label": [""],
}
# ``found`` stays a view: at paper scale it holds 34 million names, of which the tables keep the
# cloud-using two in a hundred, and the other names of their domains.
_NUMBERS = f"""
CREATE TEMP VIEW found AS SELECT * FROM {SITED} WHERE {IN_DOMAIN};
CREATE TEMP TABLE cloud_using AS SELECT DISTINCT domain, name FROM found WHERE {IN_CLOUD};
CREATE TEMP TABLE domain_texts AS
  SELECT CAST(row_number() OVER (ORDER BY text) AS UINTEGER) AS domain, text
  FROM (SELECT DISTINCT domain AS text FROM cloud_using);
CREATE TEMP TABLE name_texts AS
  SELECT CAST(row_number() OVER () AS UINTEGER) AS name, text FROM (
    SELECT name AS text FROM cloud_using
    UNION SELECT name FROM found WHERE domain IN (SELECT domain FROM cloud_using));
CREATE TEMP TABLE found_addresses AS
  SELECT d.domain, n.name, f.address, provider, region, kind
  FROM found f JOIN name_texts n ON n.text = f.name
  LEFT JOIN domain_texts d ON d.text = f.domain;
CREATE TEMP TABLE server_rows AS
  SELECT d.domain, server, s.address, provider, service, region, kind
  FROM servers s JOIN domain_texts d ON d.text = s.domain;
"""
_PLACED = f"""
CREATE TEMP TABLE address_texts AS
  SELECT CAST(row_number() OVER () AS UINTEGER) AS address, text FROM (
    SELECT address AS text FROM found_addresses UNION SELECT address FROM server_rows
      WHERE address <> '');
CREATE TEMP TABLE placed AS
  SELECT t.domain, t.name, a.address, {CODED}
  FROM found_addresses t JOIN address_texts a ON a.text = t.address;
CREATE TEMP TABLE fronted AS
  SELECT d.domain, n.name, {FRONT}, instance
  FROM fronts f JOIN domain_texts d ON d.text = f.domain JOIN name_texts n ON n.text = f.name;
CREATE TEMP TABLE ranked AS
  SELECT l.* REPLACE (d.domain AS domain)
  FROM domains l LEFT JOIN domain_texts d ON d.text = l.domain;
CREATE TEMP TABLE served AS
  SELECT h.domain, server, a.address, service, {CODED}
  FROM server_rows h LEFT JOIN address_texts a ON a.text = h.address;
DROP TABLE cloud_using; DROP TABLE found_addresses; DROP TABLE server_rows;
"""


def number_texts(connection: duckdb.DuckDBPyConnection) -> None:
    """Add to the lake's views, with numbers for texts:

    ``domain_texts`` (domain, text), ``name_texts`` (name, text), ``address_texts`` (address,
    text); ``placed`` (domain, name, address, provider, region, kind), the domain null where it
    uses no cloud; ``served`` (domain, server, address, provider, service, region, kind), the
    address null where there is none; ``fronted`` (domain, name, provider, label, instance);
    ``ranked``, the lake's ``domains``.
    """
    connection.execute(_NUMBERS)
    both = "SELECT {0} FROM found_addresses UNION ALL SELECT {0} FROM server_rows"
    sources = {name: f"({both.format(name)})" for name in ("provider", "region", "kind")}
    name_codes(connection, {**sources, "label": "fronts"})
    connection.execute(_PLACED)


def name_codes(connection: duckdb.DuckDBPyConnection, sources: dict[str, str]) -> None:
    """Add ``provider_code``, ``region_code``, ``kind_code`` and ``label_code``: types of the texts
    in the column of a source and of those that every study knows."""
    for name, known in _KNOWN.items():
        connection.execute(_CODES.format(name=name, source=sources[name], known=known))
