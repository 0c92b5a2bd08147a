"""The database backend; Django loads it by the name of this package."""

import select
from typing import Any

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """PostgreSQL; a pooled connection that its server has closed is replaced.

    Django's own check is a query for each request, which costs more than most of a request's
    queries. A connection that the network cut off without a word is found by TCP's keep-alives.
    """

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a connection that its server has not closed."""
        connection = super().get_new_connection(conn_params)
        while self.pool and _is_closed(connection):
            self.pool.putconn(connection)  # which drops what is closed, and opens another
            connection = super().get_new_connection(conn_params)
        return connection


def _is_closed(connection: Any) -> bool:
    """Whether the server, or TCP, has ended an idle connection, which is closed then.

    The only data that arrive without a query are notices of an end.
    """
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        connection.close()
    return bool(connection.closed)
