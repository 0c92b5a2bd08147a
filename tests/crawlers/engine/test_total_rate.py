"""A limit of all servers together: kept over several servers, and shared without loss."""

import time

from crawlers.engine.engine import Engine, EngineConfig, Question
from crawlers.engine.nameservers import Server
from crawlers.engine.rate_limit import LocalRateLimits, RateLimiter, Rates, TotalRateLimiter
from tests.crawlers.engine.responder import Responder, good


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_servers_together_receive_no_more_than_the_total():
    def reply(query, name, protocol, count):
        return [good(query, (name, "A", "192.0.2.1"))]

    config = EngineConfig(total_rate=200)
    with Responder(reply) as one, Responder(reply) as two:
        servers = [Server("127.0.0.1", r.port) for r in (one, two)]
        with Engine(servers, config) as engine:
            started = time.monotonic()
            results = list(engine.ask(Question(f"n{i}.test") for i in range(100)))
        assert time.monotonic() - started > 0.4
        assert len(results) == 100
        assert one.asked
        assert two.asked


def count_permitted(limiters, clock, seconds):
    counts = [0] * len(limiters)
    end = clock.now + seconds
    while clock.now < end:
        for number, limiter in enumerate(limiters):
            counts[number] += limiter.acquire_many(clock.now, 10)[0]
        clock.now += 0.001
    return counts


def test_what_a_server_may_not_use_is_left_to_the_others():
    clock = Clock()
    total = RateLimiter(LocalRateLimits(Rates(1000), clock), "total", clock)
    slow = RateLimiter(LocalRateLimits(Rates(100), clock), "slow", clock)
    limiters = [TotalRateLimiter(total, slow), TotalRateLimiter(total, None)]
    used, rest = count_permitted(limiters, clock, 2.0)
    assert 180 <= used <= 215
    assert 1700 <= used + rest <= 2 * 1000 * 1.05
