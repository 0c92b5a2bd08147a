"""What a vantage worker runs: records in, records out; neither Django nor the store.

A vantage point is a Celery worker that consumes the queue ``vantage`` (or one of its own).
"""

from typing import Any

from crawlers.engine import Engine, EngineConfig, Question
from crawlers.servers import parse_server
from tasks.app import app


@app.task(name="tasks.vantage.resolve_batch", ignore_result=False)
def resolve_batch(
    questions: list[tuple[str, str]], name_servers: list[str], rate: float | None = None
) -> list[dict[str, Any]]:
    """Ask (name, type) questions from here; returns one answer record per question."""
    servers = [parse_server(text) for text in name_servers]
    with Engine(servers, EngineConfig(rate_per_server=rate)) as engine:
        asked = [Question(name, rrtype) for name, rrtype in questions]
        return [answer.as_json() for _, answer in engine.resolve(asked)]
