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
# ``chains`` holds (name, cname), ``placed`` (name, address, provider, service, kind, region) for
# every address of every name, with nulls outside published prefixes.
MATCHES_SQL = f"""
CREATE OR REPLACE TEMP TABLE pattern_matches AS
WITH targets AS (SELECT DISTINCT cname FROM chains),
split AS (SELECT cname, string_split(cname, '.') AS parts FROM targets),
based AS (
  SELECT cname, parts, len(parts) AS n, parts[-2] || '.' || parts[-1] AS base FROM split
  WHERE len(parts) > 1 AND parts[-2] || '.' || parts[-1] IN (SELECT base FROM pattern_suffixes)),
texts AS (SELECT cname, rule FROM targets JOIN pattern_texts ON contains(cname, text))
SELECT DISTINCT cname, rule FROM based JOIN pattern_suffixes USING (base)
WHERE n >= depth AND key = {_TAIL}
UNION SELECT cname, rule FROM texts
"""
FRONTS_SQL = """
WITH found AS (SELECT DISTINCT c.name, m.cname, m.rule
               FROM chains c JOIN pattern_matches m USING (cname)),
own AS (
  SELECT DISTINCT p.name, p.address, p.service, r.rule, r.match
  FROM placed p JOIN pattern_rules r USING (provider)
  WHERE p.kind IN ('cloud', 'cdn') AND r.kind IN ('', p.kind)
    AND (r.scope = '' OR (r.scope = 'global') = (p.region IS NULL))),
networks AS (
  SELECT DISTINCT p.name, p.address, k.rule FROM placed p JOIN pattern_networks k
    ON k.key = p.address
  UNION SELECT DISTINCT p.name, p.address, k.rule FROM placed p JOIN pattern_networks k
    ON k.key = regexp_replace(p.address, '[0-9]+$', '')),
hits AS (
  SELECT name, rule, address AS instance, 'address' AS instance_kind FROM own
  WHERE match = 'address'
     OR match = 'direct' AND name NOT IN (SELECT name FROM chains)
     OR match = 'service' AND (rule, service) IN (SELECT (rule, service) FROM pattern_services)
  UNION ALL SELECT name, rule, address, 'address' FROM networks
  UNION ALL SELECT o.name, o.rule, o.address, 'address' FROM own o
    SEMI JOIN found f ON o.name = f.name AND o.rule = f.rule
  UNION ALL SELECT f.name, f.rule, f.cname, 'cname' FROM found f JOIN pattern_rules r USING (rule)
    WHERE r.by_name OR (f.name, f.rule) IN (SELECT (name, rule) FROM own)),
held AS (SELECT DISTINCT name, rule FROM hits),
barred AS (
  SELECT h.name, h.rule FROM held h JOIN pattern_conditions c USING (rule)
    LEFT JOIN held o ON o.name = h.name AND o.rule = c.other
  WHERE (o.rule IS NULL) = c.needed)
SELECT DISTINCT h.name, r.provider, r.label, r.id AS rule, h.instance
FROM hits h JOIN pattern_rules r USING (rule) ANTI JOIN barred b USING (name, rule)
WHERE h.instance_kind = r.instance
"""
# A name whose chain ends at a target that does not exist: ``ends`` holds (name, cname, status).
DANGLING_SQL = """
SELECT DISTINCT e.name, r.provider,
  CASE WHEN r.claimable THEN 'dangling-claimable' ELSE 'dangling' END AS label, r.id AS rule,
  e.cname AS instance
FROM ends e JOIN pattern_matches m USING (cname) JOIN pattern_rules r USING (rule)
WHERE e.status = 'NXDOMAIN'
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
