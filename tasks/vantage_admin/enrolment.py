"""Vantage points join, drain, resume and leave: the store and the broker's access lists together.

An access list names each command and key that a vantage point may use; all else is refused.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from redis.exceptions import RedisError, ResponseError

from core.errors import Unavailable
from tasks.protocol import vantage_queues
from tasks.vantage.quotas import limits_of
from webapp.store.campaigns import services
from webapp.store.models import VantagePoint
from webapp.store.vantages import services as vantage_services
from webapp.store.vantages.services import Joined, State

USER = "v-"
# All that a vantage point keeps at the broker.
KEYS = ("tasks", "unacked", "unacked_index", "results", "pulse", "orders", "holder")
# What its queue takes: to read it, and to note what was begun and what is done.
_QUEUE = (
    "+brpop +llen +zadd +zrem +hset +hdel +multi +exec +discard +ping +time "
    "+client|setinfo +client|setname +select"
)


def rules_of(name: str, sha256: str) -> list[str]:
    """The access list of a vantage point, as Valkey takes it."""
    key = {part: vantage_queues.key(name, part) for part in KEYS}
    return [
        *("reset", "on", f"#{sha256}", "resetchannels", "-@all", *_QUEUE.split()),
        *(f"~{key[part]}" for part in ("tasks", "unacked", "unacked_index")),
        # Results can be added to, and neither read, shortened nor overwritten.
        f"(+rpush %W~{key['results']})",
        f"(+set %W~{key['pulse']})",
        f"(+get %R~{key['orders']})",
        f"(+get +set ~{key['holder']})",
    ]


def invite(
    name: str, place: Mapping[str, Any], limits: Mapping[str, Any], owner: Any = None
) -> tuple[VantagePoint, str]:
    """A new vantage point and its token; raises ``BadInput``."""
    return vantage_services.invite(name, place, limits_of(limits).as_json(), owner)


def join(token: str, address: str | None, version: str) -> Joined:
    """Let a vantage point in; raises ``BadInput``, or ``Unavailable`` with the token unused."""
    with transaction.atomic():
        joined = vantage_services.redeem(token, address, version)
        _empty(joined.point.name)
        grant(joined.point)
    return joined


def drain(point: VantagePoint) -> None:
    """Let it finish what it has; raises ``BadInput``."""
    vantage_services.set_state(point, State.DRAINING)


def resume(point: VantagePoint) -> None:
    """Let it take work again; raises ``BadInput``."""
    vantage_services.set_state(point, State.JOINED)


def revoke(point: VantagePoint, note: str = "") -> None:
    """Cut it off at once, and take back what it was sent; raises ``Unavailable``.

    The store forgets it even where the broker is away: the sweep then removes its user.
    """
    vantage_services.set_state(point, State.REVOKED, note)
    withdraw(point.name)


def change_limits(point: VantagePoint, limits: Mapping[str, Any]) -> None:
    """Store new limits and send them to the vantage point; raises ``BadInput``, ``Unavailable``."""
    vantage_services.set_limits(point, limits_of({**point.limits, **limits}).as_json())
    publish_orders(point)


def publish_orders(point: VantagePoint) -> None:
    """Publish what a vantage point reads with its next heartbeat; raises ``Unavailable``."""
    stopped = services.recently_stopped(point.name)
    orders = json.dumps({"limits": point.limits, "state": point.state, "stopped": stopped})
    vantage_queues.asked(
        vantage_queues.client().set, vantage_queues.key(point.name, "orders"), orders
    )


def publish_all_orders(names: Sequence[str]) -> None:
    """The same for those own ones of some; raises ``Unavailable``."""
    for begin in range(0, len(names), 500):
        for point in vantage_services.own_points().filter(
            name__in=names[begin : begin + 500], state__in=vantage_services.WORKING
        ):
            publish_orders(point)


def grant(point: VantagePoint) -> None:
    """Make or renew its user at the broker; raises ``Unavailable``."""
    rules = rules_of(point.name, point.secret_sha256)
    vantage_queues.asked(
        vantage_queues.client().execute_command, "ACL", "SETUSER", USER + point.name, *rules
    )
    publish_orders(point)
    _save_users()


def withdraw(name: str) -> None:
    """Remove its user, which ends its connections, and empty its keys; raises ``Unavailable``.

    Results messages that came before are stored still; ``storing`` is the collector's.
    """
    vantage_queues.asked(vantage_queues.client().execute_command, "ACL", "DELUSER", USER + name)
    _empty(name)
    _save_users()


def _empty(name: str) -> None:
    vantage_queues.asked(
        vantage_queues.client().delete, *(vantage_queues.key(name, part) for part in KEYS)
    )


def _save_users() -> None:
    """Have the broker remember its users, where it has a file for them."""
    try:
        vantage_queues.client().execute_command("ACL", "SAVE")
    except ResponseError:
        return
    except (RedisError, OSError) as error:
        raise Unavailable(f"the links' broker does not answer: {error}") from error


def reconcile(*, renew: bool = False) -> int:
    """Make the broker's users those of the store, as after a restart; how many differed.

    ``renew`` writes all of them again, as after an upgrade that changed what they may do.
    """
    there = {
        u.decode().removeprefix(USER)
        for u in vantage_queues.asked(vantage_queues.client().execute_command, "ACL", "USERS")
        if u.startswith(USER.encode())
    }
    working = vantage_services.own_points().filter(state__in=vantage_services.WORKING)
    wanted = set(working.values_list("name", flat=True))
    differ = [name for name in sorted(there ^ wanted) if _reconcile_user(name, name in there)]
    for name in sorted(there & wanted) if renew else ():
        _reconcile_user(name, is_there=False)
    return len(differ)


def _reconcile_user(name: str, is_there: bool) -> bool:
    """Make or remove one user as its row states; false if they agree by now.

    The row is locked: a join makes the user before it commits, and a revocation commits before it
    removes the user, so either may be half done.
    """
    with transaction.atomic():
        point = vantage_services.own_points().select_for_update().filter(name=name).first()
        is_wanted = point is not None and point.state in vantage_services.WORKING
        if is_wanted == is_there:
            return False
        if point is not None and is_wanted:
            grant(point)
        else:
            withdraw(name)
    return True
