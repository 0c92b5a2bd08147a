"""The bulk engine as a plain client of one resolver: names in a file, JSON lines out."""

import sys
from pathlib import Path

from crawlers.engine.config import EngineConfig, Question
from crawlers.engine.engine import Engine
from crawlers.engine.nameservers import parse_server
from crawlers.files.jsonl import LineWriter


def main(names: str, out: str, *endpoints: str) -> None:
    """Ask every name's A records of these resolvers."""
    questions = map(Question, Path(names).read_text().split())
    # A cold resolver is slow, and asking again would only add to its work.
    config = EngineConfig(window=300, timeout_s=30.0, retries=1)
    servers = [parse_server(endpoint) for endpoint in endpoints]
    with Path(out).open("w") as output, Engine(servers, config) as engine:
        lines = LineWriter()
        for result in engine.ask(questions):
            output.write(lines.write([result]))


if __name__ == "__main__":
    main(*sys.argv[1:])
