"""False and lost names, extra questions and CPU of an enumeration under wildcards.

Proves that names are distinguished from wildcards within the budget of questions: a world of
wildcards is served on loopback, enumerated by the word list alone, and compared with its truth. Run
it as ``python -m benchmarks.dns.wildcards [--world wildcard-levels] [--scale 1/4] [--seed 1]
[--no-compiled]``; it prints one JSON document.
"""

import argparse
import json
import resource
import time
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from core.records import DomainEntry
from crawlers.engine.engine import Engine, EngineStats, Question
from crawlers.engine.nameservers import Server
from crawlers.enumeration.enumeration import Crawl, CrawlConfig, crawl_domains
from crawlers.sources.wordlist import Words, default_wordlist
from testbed.server.server import RunningServer, running
from testbed.truth.counting import hidden_reason
from testbed.world.model import World
from testbed.worlds.loading import build_world

BATCH = 200
_TICKS_PER_S = 100


def main() -> None:
    """Measure once and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--world", default="wildcards")
    parser.add_argument("--scale", type=Fraction, default=Fraction(1))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-compiled", action="store_true", help="the reference engine alone")
    options = parser.parse_args()
    world = build_world(options.world, scale=options.scale, seed=options.seed)
    config = CrawlConfig(default_wordlist(), axfr=False, compiled=not options.no_compiled)
    print(json.dumps(measure(world, config), indent=1))


def measure(world: World, config: CrawlConfig) -> dict[str, Any]:
    """Everything about one enumeration of a world."""
    words = config.wordlist
    with running(world) as server, Engine([Server(server.address, server.port)]) as engine:
        began_s, cpu_s, server_s = time.monotonic(), time.process_time(), _cpu_of(server)
        crawls = [
            _crawl(engine, world, first, config) for first in range(0, len(world.zones), BATCH)
        ]
        wall_s, cpu_s = time.monotonic() - began_s, time.process_time() - cpu_s
        server_s = _cpu_of(server) - server_s
        queries, engine.stats = engine.stats.queries, EngineStats()
        engine_s = _run_engine(engine, world, words)
    asked = sum(o.asked for crawl in crawls for o in crawl.outcomes)
    return {
        "world": world.id,
        "names_asked": asked,
        "queries": queries,
        **_against_truth(world, crawls, words),
        "names_per_s": round(asked / wall_s),
        "client_cpu_us_per_name": round(cpu_s / asked * 1e6, 1),
        "of_these_the_engine_us": round(engine_s / asked * 1e6, 1),
        "server_cpu_us_per_name": round(server_s / asked * 1e6, 1),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def _crawl(engine: Engine, world: World, first: int, config: CrawlConfig) -> Crawl:
    entries = [DomainEntry(z.domain, z.rank) for z in world.zones[first : first + BATCH]]
    return crawl_domains(entries, engine, config)


def _run_engine(engine: Engine, world: World, words: tuple[str, ...]) -> float:
    """CPU seconds of asking the same names and doing nothing with the answers."""
    guesses = Words(words)
    questions = (Question(n) for zone in world.zones for n in guesses.names(zone.domain))
    began_s = time.process_time()
    for _ in engine.resolve(questions):
        pass
    return time.process_time() - began_s


def _against_truth(world: World, crawls: Sequence[Crawl], words: Iterable[str]) -> dict[str, Any]:
    known = frozenset(words)
    apexes = {zone.domain for zone in world.zones}
    exist = {name.fqdn for _, name in world.names()} - apexes
    wanted = {
        n.fqdn for z, n in world.names() if not hidden_reason(z, n, known, axfr=False)
    } - apexes
    found = {x.answer.name for c in crawls for x in c.lookups if x.answer.addresses}
    found -= apexes | world.hosts.keys()
    outcomes = [o for crawl in crawls for o in crawl.outcomes]
    wild = {zone.domain for zone in world.zones if zone.wildcards}
    extra = [o.probes for o in outcomes if o.domain in wild]
    return {
        "names_real": len(wanted),
        "names_false": len(found - exist),
        "names_lost": len(wanted - found),
        "names_suspected": sum(o.suspected for o in outcomes),
        "names_filtered": sum(o.wildcard_filtered for o in outcomes),
        "zones_wild": len(wild),
        "zones_wild_seen": sum(o.wildcard for o in outcomes),
        "extra_questions": sum(o.probes for o in outcomes),
        "levels": sum(o.levels for o in outcomes),
        "extra_questions_of_a_wild_zone": round(sum(extra) / max(1, len(extra))),
        "extra_questions_of_a_wild_zone_most": max(extra, default=0),
        "extra_questions_of_another_zone_most": max(
            (o.probes for o in outcomes if o.domain not in wild), default=0
        ),
    }


def _cpu_of(server: RunningServer) -> float:
    """CPU seconds of the server's process so far."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(float(ticks) for ticks in fields[11:13]) / _TICKS_PER_S


if __name__ == "__main__":
    main()
