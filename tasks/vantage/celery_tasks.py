"""Celery tasks of a vantage worker: run queries or probes, send results messages; no Django.

A vantage point is a Celery worker that consumes its own queue (``tasks.vantage.joining`` starts
it). It asks its own name servers, so that the answers are those of its place.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from celery import Task
from celery.exceptions import Ignore

from core.environment import read_list
from core.errors import NephoscopeError
from core.records import Answer
from crawlers.engine.engine import Question
from crawlers.engine.rate_limit import Pace
from tasks.platform.app import app
from tasks.protocol.results_message import columns_of
from tasks.protocol.work_journal import Journal
from tasks.protocol.work_order import RESULT, Order, Report, RunContext, fulfil, resume
from tasks.resolution.engine_factory import Resolving, open_engine
from tasks.resolution.shared_rate_limit import pace_for
from tasks.vantage import client

log = logging.getLogger(__name__)
LOOKUPS = "lookups"
# The store knows the domain of a name, and the vantage point.
ANSWER_COLUMNS = (
    "name",
    "type",
    "status",
    "answers",
    "resolver",
    "protocol",
    "attempts",
    "rtt_ms",
    "at",
)


class Dated(Task):
    """A task that is skipped when it waited too long, by the site's clock."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        not_after = getattr(self.request, "not_after", None)
        if not_after is not None and client.here().now() > not_after:
            raise Ignore
        return self.run(*args, **kwargs)


@app.task(name="tasks.vantage.resolve_batch", base=Dated)
def resolve_batch(batch: int, attempt: int, names: list[str], options: dict[str, Any]) -> None:
    """Ask a batch's names for their addresses from here and send the answers home."""
    place = client.here()
    here = within_limits(Resolving.from_json(options), place.limits.probes_per_s)
    answers = ask_all(names, here, pace_for(here, in_worker=False))
    columns = columns_of([_row(answer) for answer in answers], ANSWER_COLUMNS)
    place.report(LOOKUPS, {"batch": batch, "attempt": attempt}, columns)


@app.task(name="tasks.vantage.measure", base=Dated)
def measure(order: dict[str, Any]) -> None:
    """Run a unit of a measurement campaign from here, slot by slot, and send its results home."""
    place = client.here()
    # The order's moments are the site's; the vantage point's clock offset is known from its
    # heartbeat.
    order_here = Order.from_json({**order, "offset_s": place.clock[1]})
    fulfil(order_here, build_context(place), report_of(place))


def build_context(place: client.VantageClient) -> RunContext:
    """What this place gives to measurements."""
    journal = Journal(place.folder / "units")
    return RunContext(
        place.steady,
        journal,
        place.budget.spend,
        place.ended.is_set,
        lambda survey: survey in place.stopped,
    )


def resume_unit() -> None:
    """Finish the unit that this place was measuring when its process was killed."""
    place = client.here()
    resume(build_context(place), report_of(place))


def report_of(place: client.VantageClient) -> Report:
    """The way home; a broker that is away delays no measurement, only its results."""

    def report(kind: str, head: Mapping[str, Any], columns: Mapping[str, Sequence[Any]]) -> None:
        if kind == RESULT:
            place.report(kind, head, columns)
        else:
            threading.Thread(target=_report, args=(place, kind, head), daemon=True).start()

    return report


def _report(place: client.VantageClient, kind: str, head: Mapping[str, Any]) -> None:
    try:
        place.report(kind, head, {})
    except NephoscopeError as error:
        log.warning("the site was not told: %s", error)


def within_limits(options: Resolving, probes_per_s: float) -> Resolving:
    """Options with this place's name servers, and no faster than this place may be."""
    rate = min(options.rate or probes_per_s, probes_per_s)
    return replace(options, name_servers=own_name_servers(), rate=rate)


def ask_all(names: list[str], options: Resolving, pace: Pace | None = None) -> list[Answer]:
    """One answer per name, failures included."""
    with open_engine(options, pace) as engine:
        return [answer for _, answer in engine.resolve([Question(name, "A") for name in names])]


def own_name_servers() -> tuple[str, ...]:
    """This place's servers, from the worker's own environment; none for the system's."""
    return tuple(read_list("NEPHOSCOPE_NAME_SERVERS"))


def _row(answer: Answer) -> dict[str, Any]:
    return {**answer.as_json(), "status": str(answer.status)}
