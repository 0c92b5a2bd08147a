"""Delivery of waiting messages to one endpoint, in their order."""

from core.clock import Clock
from tasks.schedules import sending
from webapp.store.models import AlertDelivery
from webapp.store.schedules import deliveries

# Messages that one task sends, so that no endpoint keeps a worker for itself.
MAX_AT_ONCE = 100


def deliver(endpoint_id: int, clock: Clock) -> int:
    """Send what is due to an endpoint until an attempt fails; return the number accepted.

    A worker that is killed between the reply and the note of it sends that message again, with the
    same id.
    """
    endpoint = deliveries.claim(endpoint_id, clock.now())
    if endpoint is None:
        return 0
    accepted = 0
    try:
        for _ in range(MAX_AT_ONCE):
            row = deliveries.head(endpoint)
            now = clock.now()
            if row is None or row.next_attempt_at > now or not deliveries.renew(endpoint, now):
                break
            found = sending.attempt(endpoint, row, clock)
            deliveries.record(row, found, clock.now())
            if found.status == sending.GONE:
                deliveries.disable(endpoint, "the receiver answered 410 Gone")
            if row.state == AlertDelivery.State.WAITING:
                break
            accepted += row.state == AlertDelivery.State.DELIVERED
    finally:
        deliveries.release(endpoint)
    return accepted
