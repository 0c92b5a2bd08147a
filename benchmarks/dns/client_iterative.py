"""Our iterative resolver as a program: names in a file, JSON lines out, counters in a file."""

import ipaddress
import json
import sys
import time
from pathlib import Path

from crawlers.engine.config import EngineConfig, Question
from crawlers.engine.nameservers import Server
from crawlers.files.jsonl import LineWriter
from crawlers.iterative.resolver import IterativeResolver

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


def main(names: str, out: str, counters: str, window: str, port: str, *roots: str) -> None:
    """Resolve every name's A records from these roots."""
    questions = map(Question, Path(names).read_text().split())
    servers = [Server(address, int(port)) for address in roots]
    config = EngineConfig(window=int(window))
    with (
        Path(out).open("w") as output,
        IterativeResolver(servers, config, port=int(port), allowed=LOOPBACK) as resolver,
    ):
        start_s, start_cpu_s = time.monotonic(), time.process_time()
        lines = LineWriter()
        for result in resolver.ask(questions):
            output.write(lines.write([result]))
        stats = resolver.stats
        counted = {
            "queries": stats.queries,
            "retries": stats.retries,
            "referrals": stats.referrals,
            "cpu_s": time.process_time() - start_cpu_s,
            "wall_s": time.monotonic() - start_s,
        }
    Path(counters).write_text(json.dumps(counted))


if __name__ == "__main__":
    main(*sys.argv[1:])
