"""Pools as they come in life and at their edges, out of reports that agents could have sent.

Run as a module it fills the configured database and prints addresses and a session for browsers.
"""

import json
import random
import sys
import time
from types import SimpleNamespace
from typing import Any

from tasks.screening.emulated_reports import build_calls, build_report

LONG_NAME = f"{'a' * 63}.{'b' * 63}.{'c' * 63}.example"
RTL_NAME = "خادم-الويب-١"


def send(pool: Any, reports: list[dict[str, Any]]) -> None:
    from tasks.screening import celery_tasks
    from webapp.store.screening import ingest, services

    _, secret = services.create_token(pool, "cast")
    grant = ingest.find_grant(secret)
    batch = [ingest.read_arrival(grant, json.dumps(one).encode()) for one in reports]
    for receipt in ingest.store_arrivals(batch):
        assert isinstance(receipt, ingest.Receipt), receipt
    celery_tasks.analyse(pool.id)


def make_pool(user: Any, name: str, **settings: Any) -> Any:
    from webapp.store.screening.services import PoolSettings, create_pool

    return create_pool(user, PoolSettings(name=name, **settings))


def make_person(name: str) -> Any:
    from django.contrib.auth import get_user_model

    people = get_user_model().objects
    return people.create(username=name, email=name)


def fill(user: Any, many: int = 0) -> SimpleNamespace:
    """The whole cast; ``many`` instances in a pool of their own."""
    rng, now = random.Random(5), time.time()
    makers = {"twenty": _twenty, "odd": _odd, "fight": _fight, "week": _week, "one": _one}
    found = {name: make(user, now, rng) for name, make in makers.items()}
    found["none"] = make_pool(user, "None yet")
    if many:
        found["many"] = make_pool(user, "Many")
        kinds = [rng.choice(["quiet", "quiet", "steal"]) for _ in range(many)]
        send(
            found["many"],
            [
                build_report(f"node-{at:03d}.fra.example", kind, now - at, rng, cpus=1)
                for at, kind in enumerate(kinds)
            ],
        )
    return SimpleNamespace(**found)


def _twenty(user: Any, now: float, rng: random.Random) -> Any:
    pool = make_pool(user, "Frontends", wanted=5, price=0.096, currency="USD")
    kinds = ["steal"] * 7 + ["doubt"] * 2 + ["quiet"] * 11
    sent = [build_report(f"ip-10-0-0-{7 * at}", k, now - 300, rng) for at, k in enumerate(kinds)]
    bad = {f"ip-10-0-0-{7 * at}" for at in range(5)}
    group = [*sorted(bad), "ip-10-0-0-84", "ip-10-0-0-91", "ip-10-0-0-98", "ip-10-0-0-105"]
    sent += [build_calls(n, [m for m in group if m != n], bad, now - 60, rng) for n in group]
    send(pool, sent)
    return pool


def _one(user: Any, now: float, rng: random.Random) -> Any:
    pool = make_pool(user, "One")
    send(pool, [build_report("single", "none", now - 9, rng)])
    return pool


def _odd(user: Any, now: float, rng: random.Random) -> Any:
    pool = make_pool(user, "خوادم <b>الواجهة</b>")
    names = [(LONG_NAME, "steal"), (RTL_NAME, "quota"), ("-rf", "quiet"), ("a b (c)", "load")]
    send(pool, [build_report(name, kind, now - 9, rng) for name, kind in names])
    return pool


def _fight(user: Any, now: float, rng: random.Random) -> Any:
    pool = make_pool(user, "Contradictions")
    kinds = ("quiet", "steal", "quiet")
    sent = [build_report("a", kind, now - 90 + at, rng) for at, kind in enumerate(kinds)]
    sent += [build_report("b", "steal", now - 80, rng), build_report("c", "none", now - 70, rng)]
    send(pool, [*sent, build_calls("c", ["a", "b"], {"a"}, now - 9, rng)])
    return pool


def _week(user: Any, now: float, rng: random.Random) -> Any:
    """Six machines over four days: few changes, and one hour of the day that is bad for all."""
    pool = make_pool(user, "Four days")
    state = {f"web-{at}": at < 3 for at in range(6)}
    sent = []
    for hour in range(96):
        for place, name in enumerate(state):
            state[name] = state[name] != (rng.random() < 0.01)
            kind = "steal" if state[name] or hour % 24 == 3 else "none"
            at = now - 97 * 3600 + hour * 3600 + place
            sent.append(build_report(name, kind, at, rng, seconds=20, cpus=1))
    send(pool, sent)
    return pool


def main() -> None:
    import django

    django.setup()
    from django.core.management import call_command
    from django.test import Client

    from webapp.store.screening import services

    call_command("migrate", verbosity=0)
    user = make_person("ann@example.org")
    pools = vars(fill(user, many=int(sys.argv[1]) if len(sys.argv) > 1 else 60))
    client = Client()
    client.force_login(user)
    secret = services.share_pool(pools["twenty"])
    keys = {name: pool.key for name, pool in pools.items()}
    cookie = client.cookies["sessionid"].value
    sys.stdout.write(json.dumps({"keys": keys, "session": cookie, "secret": secret}))


if __name__ == "__main__":
    main()
