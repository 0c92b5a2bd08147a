"""Our iterative resolver as a program: names in a file, JSON lines out, counters in a file.

The engine is ``compiled`` or ``reference``.
"""

import ipaddress
import json
import sys
import time
from pathlib import Path

from crawlers.compiled.loading import load_step
from crawlers.engine.config import EngineConfig
from crawlers.engine.nameservers import Server
from crawlers.files.jsonl import LineWriter
from crawlers.files.name_list import NameList
from crawlers.iterative.resolver import IterativeResolver, collecting_seldom
from crawlers.iterative.run import Loop

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


def main(
    engine: str, names: str, out: str, counters: str, window: str, port: str, *roots: str
) -> None:
    """Resolve every name's A records from these roots."""
    servers = [Server(address, int(port)) for address in roots]
    config = EngineConfig(window=int(window))
    with (
        collecting_seldom(),
        Path(names).open("rb") as source,
        Path(out).open("wb") as output,
        IterativeResolver(servers, config, port=int(port), allowed=LOOPBACK) as resolver,
    ):
        start_s, start_cpu_s = time.monotonic(), time.process_time()
        writer = LineWriter()
        step = load_step(None) if engine == "compiled" else None
        questions = NameList(source, ("A",)).questions()
        run = resolver.open_run(questions, Loop(step, ("A",)) if step else None)
        while not run.is_over:
            output.write(writer.write(run.step()).encode())
            output.write(run.pop_lines().text)
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
