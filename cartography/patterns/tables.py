"""The rules as tables and joins: names with their chains and places in, all their labels out.

What ``label_fronts`` does name by name, DuckDB does here for any number of names at once.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from cartography.patterns.rules import Rule, load_rules, network_key
from cartography.patterns.suffixes import form_of

# The alias's last labels at the rule's depth, with a star where the rule has one.
_TAIL = """array_to_string(CASE WHEN star = 0 THEN parts[n - depth + 1 : n] ELSE
  list_concat(parts[n - depth + 1 : n - star], ['*'], parts[n - star + 2 : n]) END, '.')"""
# A network of 256 addresses is known by its text but for the last number, which no such text is
# shorter than: "1.1.1.". Comparing these letters first is four times as fast as cutting it off.
_HEAD = 6
# ``chains`` holds (name, cname), ``placed`` (name, address, provider, service, kind, region) for
# every address of every name, with nulls outside published prefixes. With numbers for names,
# aliases and addresses may put them in place of the texts before the fronts are found.
TARGETS_SQL = f"""
CREATE OR REPLACE TEMP TABLE pattern_matches AS
WITH targets AS (SELECT DISTINCT cname FROM chains),
based AS (
  SELECT cname, base, string_split(cname, '.') AS parts, array_length(parts) AS n
  FROM (SELECT cname, split_part(cname, '.', -2) || '.' || split_part(cname, '.', -1) AS base
        FROM targets)
  WHERE base IN (SELECT base FROM pattern_suffixes)),
tailed AS (
  SELECT cname, base, {_TAIL} AS key
  FROM based JOIN (SELECT DISTINCT base, depth, star FROM pattern_suffixes) USING (base)
  WHERE n >= depth)
SELECT DISTINCT cname, rule FROM tailed JOIN pattern_suffixes USING (base, key)
UNION SELECT cname, rule FROM targets JOIN pattern_texts ON contains(cname, text)
"""
ADDRESSES_SQL = f"""
CREATE OR REPLACE TEMP TABLE pattern_addresses AS
SELECT DISTINCT address, rule FROM placed JOIN pattern_networks ON key = address
UNION SELECT address, rule FROM placed
  JOIN (FROM pattern_networks WHERE ends_with(key, '.')) k
  ON left(address, {_HEAD}) = left(key, {_HEAD}) AND starts_with(address, key)
"""
MATCHES_SQL = f"{TARGETS_SQL};{ADDRESSES_SQL}"
_COUNTS = "(r.scope = '' OR (r.scope = 'global') = (p.region IS NULL)) AND r.kind IN ('', p.kind)"
HITS_SQL = f"""
WITH found AS (
  SELECT DISTINCT c.name, m.cname, m.rule FROM chains c JOIN pattern_matches m USING (cname)),
cloud AS (
  SELECT name, address, provider, service, kind, region FROM placed
  WHERE kind IN ('cloud', 'cdn')),
needy AS MATERIALIZED (
  SELECT f.name, f.cname, r.* FROM found f JOIN pattern_rules r USING (rule) WHERE NOT r.by_name),
own AS (
  SELECT r.name, r.rule, CASE r.instance WHEN 'cname' THEN r.cname ELSE p.address END AS instance
  FROM needy r JOIN cloud p ON p.name = r.name AND p.provider = r.provider WHERE {_COUNTS}),
hits AS MATERIALIZED (
  SELECT p.name, r.rule, p.address AS instance FROM cloud p
    JOIN pattern_rules r ON p.provider = r.provider AND {_COUNTS} WHERE r.match = 'address'
  UNION ALL SELECT p.name, r.rule, p.address FROM cloud p ANTI JOIN chains c ON c.name = p.name
    JOIN pattern_rules r ON p.provider = r.provider AND {_COUNTS} WHERE r.match = 'direct'
  UNION ALL SELECT p.name, r.rule, p.address FROM cloud p
    JOIN pattern_services s ON s.service = p.service
    JOIN pattern_rules r ON r.rule = s.rule AND r.provider = p.provider AND {_COUNTS}
  UNION ALL SELECT p.name, k.rule, p.address FROM placed p
    JOIN pattern_addresses k USING (address)
  UNION ALL SELECT name, rule, instance FROM own
  UNION ALL SELECT f.name, f.rule, f.cname FROM found f JOIN pattern_rules r USING (rule)
    WHERE r.by_name),
barred AS (
  SELECT h.name, h.rule FROM hits h JOIN pattern_conditions c USING (rule)
    LEFT JOIN hits o ON o.name = h.name AND o.rule = c.other
  WHERE (o.rule IS NULL) = c.needed)
SELECT name, rule, instance FROM hits ANTI JOIN barred USING (name, rule)
"""
FRONTS_SQL = f"""
SELECT h.name, r.provider, r.label, r.id AS rule, h.instance
FROM (SELECT DISTINCT * FROM ({HITS_SQL})) h JOIN pattern_rules r USING (rule)
"""
# A name with a chain that ends at a missing target: ``ends`` holds (name, cname, status).
DANGLING_SQL = """
WITH ended AS (
  SELECT e.name, e.cname, m.rule FROM ends e JOIN pattern_matches m USING (cname)
  WHERE e.status = 'NXDOMAIN'),
barred AS (
  SELECT e.cname, e.rule FROM ended e JOIN pattern_conditions c USING (rule)
    LEFT JOIN ended o ON o.cname = e.cname AND o.rule = c.other
  WHERE (o.rule IS NULL) = c.needed)
SELECT DISTINCT e.name, r.provider,
  CASE WHEN r.claimable THEN 'dangling-claimable' ELSE 'dangling' END AS label, r.id AS rule,
  e.cname AS instance
FROM ended e JOIN pattern_rules r USING (rule) ANTI JOIN barred b USING (cname, rule)
"""


def pattern_tables(rules: Sequence[Rule] | None = None) -> dict[str, pa.Table]:
    """The tables that the queries join, by name; the product's own rules by default."""
    own = load_rules() if rules is None else rules
    number = {rule.id: n for n, rule in enumerate(own)}
    plain = (
        "id",
        "provider",
        "label",
        "match",
        "instance",
        "kind",
        "scope",
        "by_name",
        "claimable",
    )
    suffixes = [(n, *form_of(value), value) for n, value in _values(own, "cname_suffix")]
    conditions = [
        (n, number[other], needed)
        for n, rule in enumerate(own)
        for others, needed in ((rule.needs, True), (rule.unless, False))
        for other in others
    ]
    return {
        "pattern_rules": _table(
            ("rule", *plain), [(n, *(getattr(r, f) for f in plain)) for n, r in enumerate(own)]
        ),
        "pattern_suffixes": _table(("rule", "base", "depth", "star", "key"), suffixes),
        "pattern_texts": _table(("rule", "text"), _values(own, "cname_contains")),
        "pattern_services": _table(("rule", "service"), _values(own, "service")),
        "pattern_networks": _table(
            ("rule", "key"), [(n, network_key(v)) for n, v in _values(own, "network")]
        ),
        "pattern_conditions": _table(("rule", "other", "needed"), conditions),
    }


def open_patterns(
    connection: duckdb.DuckDBPyConnection, rules: Sequence[Rule] | None = None
) -> None:
    """Put the rules' tables into a connection."""
    for name, table in pattern_tables(rules).items():
        connection.register("pattern_rows", table)
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM pattern_rows")
        connection.unregister("pattern_rows")


def _values(rules: Sequence[Rule], match: str) -> list[tuple[int, str]]:
    return [(n, v) for n, rule in enumerate(rules) if rule.match == match for v in rule.values]


def _table(names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return pa.table(
        {
            name: pa.array(column, type=_type(name))
            for name, column in zip(names, columns, strict=True)
        }
    )


def _type(name: str) -> pa.DataType:
    if name in ("rule", "other", "depth", "star"):
        return pa.int32()
    return pa.bool_() if name in ("by_name", "claimable", "needed") else pa.string()
