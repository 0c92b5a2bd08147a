"""Kombu's transport for Redis with places that are never lost, and one for vantage points.

That one is cut down to what their few permissions allow: plain queues, no bindings, no scripts, no
messages to all. What a killed process had begun is sent again by the centre.
"""

from typing import Any

from kombu.transport import redis, virtual
from redis import exceptions as redis_errors

from tasks.platform.tls import PinnedConnection

# A queue has one key, not one for each of ten priorities.
OPTIONS = {
    "priority_steps": [0],
    "visibility_timeout": 86_400,
    "socket_keepalive": True,
    "socket_connect_timeout": 10.0,
    "retry_on_timeout": True,
    "max_retries": 3,
}


# A broker that refuses, since its disk or memory is full or it is loading, is away for a while:
# clients connect again instead of ending.
AWAY = (*redis.Transport.connection_errors, redis_errors.ResponseError)


class FreeingQoS(redis.QoS):
    """Acknowledgements that free their place also where the broker cannot take them.

    A worker with one place would take no message any more, nor notice that its connection is gone,
    if the broker ended while it worked. The message itself is redelivered by the process that
    leases it.
    """

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge; raises what the broker's client raises."""
        try:
            super().ack(delivery_tag)
        except AWAY:
            virtual.QoS.ack(self, delivery_tag)
            raise


class Channel(redis.Channel):
    """A channel of Redis with places that are never lost."""

    QoS = FreeingQoS

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        """Return what connections are made with; raises ``ConnectionError`` of redis.

        Of a connection that was given up, Kombu would raise ``AttributeError``, which ends a worker
        that had messages in work when the broker ended.
        """
        if self.connection.client is None:
            raise redis_errors.ConnectionError("the connection of this channel was given up")
        return super()._connparams(asynchronous)


class Transport(redis.Transport):
    """The transport of the centre."""

    Channel = Channel
    connection_errors = AWAY


class OwnQoS(FreeingQoS):
    """Acknowledgements without the search for lost messages, which takes scripts and locks."""

    def restore_visible(self, start: int = 0, num: int = 10, interval: int = 10) -> None:
        """Nothing: the centre's leases do this."""

    def restore_by_tag(self, tag: str, client: Any = None, leftmost: bool = False) -> None:
        """Forget a message that was not finished: the centre will send it again."""
        self._remove_from_indices(tag).execute()


class OwnChannel(Channel):
    """A channel that consumes one named queue; queues are bound to nothing."""

    QoS = OwnQoS
    connection_class_ssl = PinnedConnection

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        """Nothing is stored: the queue is addressed by its name."""

    def get_table(self, exchange: str) -> list[Any]:
        """No bindings."""
        return []

    def maybe_refresh_binding_expiry(self) -> None:
        """No bindings, so none expire."""


class OwnTransport(Transport):
    """The transport of vantage points."""

    Channel = OwnChannel
