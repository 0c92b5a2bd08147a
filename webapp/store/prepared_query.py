"""Queries of one row with composed SQL: composing takes longer than the database needs to answer.

Django composes the SQL of a queryset each time that it is evaluated, about a millisecond of CPU
time for a query with a dozen columns and a join. A query of every request is composed once.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import QuerySet


class _Composed(NamedTuple):
    """SQL, its parameters, and the converters of columns by position."""

    sql: str
    parameters: tuple[Any, ...]
    converters: dict[int, tuple[list[Any], Any]]


class PreparedQuery:
    """The first row of a ``values_list`` queryset, which depends on texts only.

    ``make`` returns the queryset for its texts. It is called once per kind of database, with
    placeholders, so that the queryset may depend on nothing else: neither on time nor on a user.
    """

    def __init__(self, make: Callable[..., QuerySet[Any, Any]]) -> None:
        self._make = make
        self._composed: dict[str, _Composed] = {}

    def first(self, *texts: str) -> tuple[Any, ...] | None:
        """Return the first row, or ``None``; raises ``DatabaseError``."""
        connection = connections[DEFAULT_DB_ALIAS]
        query = self._composed.get(connection.vendor)
        if query is None:
            query = self._composed[connection.vendor] = self._compose(connection, len(texts))
        given = dict(zip(_placeholders(len(texts)), texts, strict=True))
        with connection.cursor() as cursor:
            cursor.execute(query.sql, [given.get(each, each) for each in query.parameters])
            row = cursor.fetchone()
        if row is None:
            return None
        values = list(row)
        for place, (functions, expression) in query.converters.items():
            for convert in functions:
                values[place] = convert(values[place], expression, connection)
        return tuple(values)

    def _compose(self, connection: Any, count: int) -> _Composed:
        compiler = self._make(*_placeholders(count))[:1].query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        converters = compiler.get_converters([expression for expression, *_ in compiler.select])
        return _Composed(sql, tuple(parameters), converters)


def _placeholders(count: int) -> list[str]:
    return [f"placeholder {number} \0" for number in range(count)]
