"""Pools as they come in life and at their edges, out of reports that agents could have sent.

Run as a module it fills the configured database and prints addresses and a session for browsers.
"""

import json
import random
import sys
import time
from types import SimpleNamespace
from typing import Any

LONG_NAME = f"{'a' * 63}.{'b' * 63}.{'c' * 63}.example"
RTL_NAME = "خادم-الويب-١"
# Stalls per second on the first virtual CPU, and which counter covers them.
KINDS = {
    "quiet": (0.03, ""),
    "none": (0.0, ""),
    "doubt": (0.35, ""),
    "unexplained": (1.0, ""),
    "steal": (1.6, "steal"),
    "quota": (3.0, "quota"),
    "load": (2.2, "load"),
}
# One in ten of the sleeps that fit, so that a report is small.
SLEEPS_PER_S = 870


def make_cpu(cpu: int, kind: str, seconds: float, rng: random.Random) -> dict[str, Any]:
    from screening.agent_parts.histograms import find_slot

    rate, cause = KINDS[kind] if cpu == 0 else (0.0, "")
    stalls, at = [], 0.0
    while rate and (at := at + rng.expovariate(rate)) < seconds:
        length = int(rng.uniform(10_200, 32_000))
        stalls.append(
            [
                int(at * 1e6),
                length,
                int(length * 0.95) if cause else 0,
                int(length * 0.8) if cause == "steal" else 0,
                int(length * 0.95) if cause == "quota" else 0,
            ]
        )
    counts: dict[int, int] = {}
    each = max(1, int(SLEEPS_PER_S * seconds) // 100)
    for _ in range(100):
        slot = find_slot(int(115_000 * rng.lognormvariate(0, 0.12)))
        counts[slot] = counts.get(slot, 0) + each
    for stall in stalls:
        slot = find_slot(stall[1] * 1000)
        counts[slot] = counts.get(slot, 0) + 1
    longest = float(max([stall[1] for stall in stalls] or [400]))
    total = sum(counts.values())
    return {
        "cpu": cpu,
        "mode": "native",
        "seconds": seconds,
        "wakeups": total,
        "stalls_10ms": len(stalls),
        "p50_us": 115.0,
        "p99_us": 150.0,
        "p999_us": min(longest, 12_000.0) if len(stalls) > total / 1000 else 150.0,
        "max_us": longest,
        "steal_ms": sum(s[3] for s in stalls) / 1000,
        "run_delay_ms": sum(s[2] for s in stalls) / 1000,
        "throttled_ms": sum(s[4] for s in stalls) / 1000,
        "busy_ms": 700.0 * seconds if kind == "load" else 8.0 * seconds,
        "own_ms": 9 * seconds,
        "own_share": 0.009,
        "pinned": True,
        "slack": True,
        "causes": {},
        "histogram": [list(pair) for pair in sorted(counts.items())],
        "stalls": stalls,
    }


def make_report(
    name: str, kind: str, started: float, rng: random.Random, seconds: float = 100.0, cpus: int = 2
) -> dict[str, Any]:
    return {
        "schema": "nephoscope.screening/1",
        "report_id": f"{rng.getrandbits(128):032x}",
        "agent_version": "1.0",
        "started_at": started,
        "sleep_us": 100,
        "seconds": seconds,
        "host": {
            "name": name,
            "cpu_model": "Example CPU at 2.5 GHz",
            "vcpus": cpus,
            "kernel": "6.1.0",
            "machine": "x86_64",
            "hypervisor": "KVM",
            "clock_source": "kvm-clock",
            "cgroup": 2,
            "quota_cpus": 1.5 if kind == "quota" else 0,
            "python": "3.11.2",
        },
        "cpus": [make_cpu(cpu, kind, seconds, rng) for cpu in range(cpus)],
        "pressure_us": {"cpu": {"some": 1_200_000, "full": 0}},
        "notes": [],
    }


def make_calls(
    caller: str, servers: list[str], bad: set[str], started: float, rng: random.Random
) -> dict[str, Any]:
    report = make_report(caller, "none", started, rng)
    rates = (100, 200, 500)
    rows = [_make_call(s, rate, s in bad, rng) for s in servers for rate in rates]
    return {**report, "cpus": [], "network": rows}


def _make_call(server: str, rate: int, is_bad: bool, rng: random.Random) -> dict[str, Any]:
    from screening.agent_parts.histograms import find_slot

    calls = 12_000
    late = 60 if is_bad else 0
    counts: dict[int, int] = {}
    for at in range(300):
        times = late // 30 if at < 30 else 0
        slot = find_slot(int(rng.uniform(12e6, 30e6)))
        if times:
            counts[slot] = counts.get(slot, 0) + times
        slot = find_slot(int(550_000 * rng.lognormvariate(0, 0.2)))
        counts[slot] = counts.get(slot, 0) + (calls - late) // 300
    answered = sum(counts.values())
    return {
        "server": f"{server}:7777",
        "rate": rate,
        "seconds": calls / rate,
        "calls": answered,
        "answered": answered,
        "lost": 0,
        "late": 0,
        "over_10ms": late,
        "p50_us": 550.0,
        "p99_us": 900.0,
        "p999_us": 20_000.0 if is_bad else 1_200.0,
        "max_us": 31_000.0,
        "histogram": [list(pair) for pair in sorted(counts.items())],
    }


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
                make_report(f"node-{at:03d}.fra.example", kind, now - at, rng, cpus=1)
                for at, kind in enumerate(kinds)
            ],
        )
    return SimpleNamespace(**found)


def _twenty(user: Any, now: float, rng: random.Random) -> Any:
    pool = make_pool(user, "Frontends", wanted=5, price=0.096, currency="USD")
    kinds = ["steal"] * 7 + ["doubt"] * 2 + ["quiet"] * 11
    sent = [make_report(f"ip-10-0-0-{7 * at}", k, now - 300, rng) for at, k in enumerate(kinds)]
    bad = {f"ip-10-0-0-{7 * at}" for at in range(5)}
    group = [*sorted(bad), "ip-10-0-0-84", "ip-10-0-0-91", "ip-10-0-0-98", "ip-10-0-0-105"]
    sent += [make_calls(n, [m for m in group if m != n], bad, now - 60, rng) for n in group]
    send(pool, sent)
    return pool


def _one(user: Any, now: float, rng: random.Random) -> Any:
    pool = make_pool(user, "One")
    send(pool, [make_report("single", "none", now - 9, rng)])
    return pool


def _odd(user: Any, now: float, rng: random.Random) -> Any:
    pool = make_pool(user, "خوادم <b>الواجهة</b>")
    names = [(LONG_NAME, "steal"), (RTL_NAME, "quota"), ("-rf", "quiet"), ("a b (c)", "load")]
    send(pool, [make_report(name, kind, now - 9, rng) for name, kind in names])
    return pool


def _fight(user: Any, now: float, rng: random.Random) -> Any:
    pool = make_pool(user, "Contradictions")
    kinds = ("quiet", "steal", "quiet")
    sent = [make_report("a", kind, now - 90 + at, rng) for at, kind in enumerate(kinds)]
    sent += [make_report("b", "steal", now - 80, rng), make_report("c", "none", now - 70, rng)]
    send(pool, [*sent, make_calls("c", ["a", "b"], {"a"}, now - 9, rng)])
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
            sent.append(make_report(name, kind, at, rng, seconds=20, cpus=1))
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
