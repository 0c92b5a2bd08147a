"""Translate the study's statements from DuckDB's dialect to Spark's.

sqlglot knows both dialects. The rules here are for what it leaves as it is: enumerations, unsigned
numbers, numbering without an order, and parts of lists.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp

# ``CREATE TYPE region_code AS ENUM (SELECT …)``: texts of which there are few.
_ENUM = re.compile(r"\s*CREATE TYPE (\w+) AS ENUM \((.*)\)\s*", re.DOTALL)
_WIDE = exp.DataType.build("bigint")
_UNSIGNED = frozenset({"utinyint", "usmallint", "uint", "ubigint"})
Codes = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: ``kind`` is ``query``, ``table``, ``view``, ``enum`` or ``drop``.

    ``sql`` is the query behind it, in Spark's dialect; empty for ``drop``.
    """

    kind: str
    name: str
    sql: str


def translate(script: str, values: Sequence[Any], codes: Codes) -> Iterator[Statement]:
    """Yield the statements of a script; ``values`` replace ``?`` in their order.

    ``codes`` are the texts of each enumeration: a cast to it keeps the text, and ``TRY_CAST`` gives
    null for any other.
    """
    if found := _ENUM.fullmatch(script):
        inner = sqlglot.parse_one(found[2], read="duckdb")
        yield Statement("enum", found[1], _to_spark(inner, codes))
        return
    given = iter(values)
    for tree in sqlglot.parse(script, read="duckdb"):
        if tree is not None:
            yield _classify(_fill(tree, given), codes)


def _classify(tree: exp.Expr, codes: Codes) -> Statement:
    if isinstance(tree, exp.Create):
        kind = "view" if tree.kind == "VIEW" else "table"
        return Statement(kind, str(tree.this.name), _to_spark(tree.expression, codes))
    if isinstance(tree, exp.Drop):
        (dropped,) = tree.find_all(exp.Table)
        return Statement("drop", dropped.name, "")
    return Statement("query", "", _to_spark(tree, codes))


def _fill(tree: exp.Expr, given: Iterator[Any]) -> exp.Expr:
    for mark in [node for node in tree.dfs() if isinstance(node, exp.Placeholder)]:
        mark.replace(exp.convert(next(given)))
    return tree


def _to_spark(tree: exp.Expr, codes: Codes) -> str:
    # From the leaves up: a node that is replaced is not searched again.
    for node in reversed(list(tree.dfs())):
        if isinstance(node, exp.Cast):
            found = _rewrite_type(node, codes)
        else:
            found = _RULES.get(type(node), _leave_unchanged)(node)
        if found is not node:
            node.replace(found)
    return str(tree.sql(dialect="spark"))


def _leave_unchanged(node: exp.Expr) -> exp.Expr:
    return node


def _rewrite_type(node: exp.Cast, codes: Codes) -> exp.Expr:
    name = node.to.sql().lower()
    if name in codes:
        text: exp.Expr = node.this
        if not isinstance(node, exp.TryCast):
            return text
        known = exp.In(this=text, expressions=[exp.convert(one) for one in codes[name]])
        return exp.Case().when(known, text)
    if name in _UNSIGNED:
        node.set("to", _WIDE.copy())
    return node


def _rewrite_window(node: exp.Expr) -> exp.Expr:
    """Replace ``row_number() OVER ()``: any distinct number will do, on every machine at once."""
    is_free = not node.args.get("order") and not node.args.get("partition_by")
    if is_free and isinstance(node.this, exp.RowNumber):
        return sqlglot.parse_one("monotonically_increasing_id() + 1", read="spark")
    return node


def _rewrite_part(node: exp.Expr) -> exp.Expr:
    """``list[i]`` and ``list[i:j]`` of lists that begin at 1 and are counted from the end, too."""
    (part,) = node.expressions
    found = node.this
    if not isinstance(part, exp.Slice):
        # The parser has moved the place to lists that begin at 0.
        index = exp.convert(int(part.sql()) + 1)
        return exp.Anonymous(this="try_element_at", expressions=[found, index])
    first, last = part.this, part.expression
    size = exp.Anonymous(this="size", expressions=[found.copy()])
    # Spark counts from the end, too, but refuses a begin before the first and a negative length.
    begin = exp.func("greatest", first, exp.convert(1) if last else -size)
    # Without these parentheses sqlglot's operators change what is subtracted.
    span = exp.paren(last) - exp.paren(first) + 1 if last else None
    length = exp.func("greatest", span, exp.convert(0)) if span else size
    return exp.Anonymous(this="slice", expressions=[found, begin, length])


def _rewrite_with(node: exp.Expr) -> exp.Expr:
    node.set("materialized", None)
    return node


def _rewrite_function(node: exp.Expr) -> exp.Expr:
    if node.name.lower() == "list_position":
        node.set("this", "array_position")
    return node


_RULES: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.Window: _rewrite_window,
    exp.Bracket: _rewrite_part,
    exp.CTE: _rewrite_with,
    exp.Anonymous: _rewrite_function,
}
