"""Units of campaigns that a public network measures: its tests are created, asked for, and kept.

An order is executed in small steps: each created test is written to a file before the next wait, so
that after the death of a worker no test is paid for twice. Raw answers stay beside the lake's
parts.
"""

import fcntl
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from django.conf import settings

from core.clock import Clock, SystemClock
from core.errors import BadInput, NephoscopeError, Unavailable
from probes.networks import globalping, ripe_atlas
from probes.networks.web_client import Api, Busy, MalformedAnswer, Refused
from probes.records import ProbeStatus
from tasks.campaigns import dispatch, results_receiver
from tasks.networks.rate_state import Work, held_until, hold, path_of, read, write
from tasks.platform.app import AWAY, app, queue
from tasks.protocol.results_message import ResultsMessage, columns_of
from tasks.protocol.work_order import BEGAN, COLUMNS, RESULT, Order
from webapp.store.campaigns import units
from webapp.store.models import VantagePoint
from webapp.store.vantages.network_leases import hold_unit

log = logging.getLogger(__name__)
NETWORKS: dict[str, ModuleType] = {"globalping": globalping, "atlas": ripe_atlas}
# Results may come so long after a unit's end: probes of RIPE Atlas report once in a while.
GRACE_S = {"globalping": 60.0, "atlas": 600.0}
_LONGEST_STEP_S = 60.0
# Between the last moment at which the network is queried and that at which a unit is given up.
_SLACK_S = 90.0
_LONGEST_WAIT_S = 2.0
Row = dict[str, Any]
Target = Mapping[str, Any]


def api_of(source: str, clock: Clock | None = None) -> Api:
    """The API of a network, with the key of this installation."""
    if source == "atlas":
        found = ripe_atlas.client(settings.ATLAS_KEY, settings.ATLAS_URL, clock)
    else:
        found = globalping.client(settings.GLOBALPING_TOKEN, settings.GLOBALPING_URL, clock)
    # A worker waits for no network: what has to wait comes back with the next step.
    found.longest_wait_s = _LONGEST_WAIT_S
    return found


def send(point: VantagePoint, order: Order, expires_s: float) -> None:
    """The way of a unit to a public network; raises ``Unavailable`` without a broker."""
    wait_s = max(0.0, order.due - SystemClock().now().timestamp())
    try:
        queue(measure, point.name, order.as_json(), countdown=wait_s)
    except AWAY as error:
        raise Unavailable(f"the broker does not answer: {error}") from error


dispatch.WAYS[VantagePoint.Source.GLOBALPING] = send
dispatch.WAYS[VantagePoint.Source.ATLAS] = send


@app.task(name="tasks.public_networks.measure")
def measure(vantage: str, order_json: dict[str, Any]) -> None:
    """One step of an order; the next one follows when the network has had time."""
    point = VantagePoint.objects.filter(name=vantage).first()
    if point is None:
        return
    order = Order.from_json(order_json)
    try:
        wait_s = step(point, order, api_of(point.source))
    except Unavailable as error:
        # For example a full disk: results of created tests are requested when there is space again.
        log.warning("%s of %s waits: %s", order.unit, order.campaign, error)
        wait_s = _LONGEST_STEP_S / 4
    if wait_s is not None:
        measure.apply_async(args=[vantage, order_json], countdown=wait_s)


def step(point: VantagePoint, order: Order, api: Api) -> float | None:
    """Create what is due, ask for what was created; seconds to wait, or ``None`` at the end.

    Raises ``Unavailable`` where the disk refuses.
    """
    path = path_of(order)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.with_suffix(".lock").open("a")
    except OSError as error:
        raise Unavailable(f"cannot write {path.name}: {error.strerror or error}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None  # another worker is at it
        return None if path.with_suffix(".done").exists() else _run_step(point, order, api, path)


def _run_step(point: VantagePoint, order: Order, api: Api, path: Path) -> float | None:
    work = read(path)
    if order.attempt < work.attempt:
        return None  # it was sent again, and a later one continues with it
    own = _Step(point, order, api, work, NETWORKS[point.source])
    if units.open_unit(order.campaign, point.name, order.unit) is None:
        own.abandon()
        path.with_suffix(".done").touch()
        return None
    if order.attempt > work.attempt:
        work.attempt = order.attempt
        results_receiver.record_start(point.name, ResultsMessage(BEGAN, order.head), api.clock)
    # Every pass renews the lease of the unit, so that it is not abandoned while the network works.
    until = datetime.fromtimestamp(order.ends + GRACE_S[point.source] + _SLACK_S, UTC)
    hold_unit(order.campaign, point.name, order.unit, until)
    left = [wait_s for slot in order.slots if (wait_s := own.advance(slot)) is not None]
    write(path, work)
    if left:
        return min(min(left), _LONGEST_STEP_S)
    results_receiver.store_result(point.name, _build_message(order, work), api.clock)
    path.with_suffix(".done").touch()
    return None


@dataclass(frozen=True, slots=True)
class _Step:
    """One pass over an order's slots."""

    point: VantagePoint
    order: Order
    api: Api
    work: Work
    network: ModuleType

    @property
    def now(self) -> float:
        return self.api.clock.now().timestamp()

    @property
    def is_late(self) -> bool:
        return self.now > self.order.ends + GRACE_S[self.point.source]

    def advance(self, slot: Sequence[float]) -> float | None:
        """One slot one step further; seconds until the next, ``None`` when it has ended."""
        number, target = str(int(slot[0])), self.order.targets[int(slot[1])]
        if number in self.work.results:
            return None
        if number in self.work.tests:
            return self._ask(number, target)
        early_s = self.order.due + float(slot[2]) - self.now
        return early_s if early_s > 0 else self._create(slot, number, target)

    def abandon(self) -> None:
        """End what still runs: the results are no longer needed."""
        for number, test in self.work.tests.items():
            if number not in self.work.results and test["name"]:
                with suppress(NephoscopeError):
                    self.network.cancel(self.api, test["name"])

    def _create(self, slot: Sequence[float], number: str, target: Target) -> float | None:
        begun, point = self.now, self.point
        place = {"country": point.country, "city": point.city, "asn": point.asn, **point.detail}
        late_s = round(max(0.0, begun - self.order.due - float(slot[2])), 3)
        try:
            self._refuse_held()
            wanted = self.order.probe, target, self.order.options, place
            body = self.network.request_for(*wanted)
            # Before it is paid for, it is known that it may have been.
            self._record(number, {"name": "", "etag": "", "late_s": late_s})
            self._record(number, {"name": self.network.create(self.api, body)})
        except Busy as error:
            self.work.tests.pop(number, None)
            hold(point.source, begun + error.wait_s)
            if begun + error.wait_s <= self.order.due + float(slot[3]):
                return error.wait_s
            self._fail(number, target, error, begun)
            return None
        except NephoscopeError as error:
            if number not in self.work.tests and isinstance(error, Unavailable):
                raise  # nothing was requested, since it could not have been kept
            self._fail(number, target, error, begun)
            return None
        return float(self.network.POLL_S)

    def _refuse_held(self) -> None:
        left_s = held_until(self.point.source) - self.now
        if left_s > 0:
            raise Busy("the network asked to wait", left_s)

    def _record(self, number: str, known: Row) -> None:
        before = dict(self.work.tests)
        self.work.tests[number] = {**before.get(number, {}), **known}
        try:
            write(path_of(self.order), self.work)
        except Unavailable:
            if number not in before:
                self.work.tests = before
            raise

    def _ask(self, number: str, target: Target) -> float | None:
        test = self.work.tests[number]
        if not test["name"]:
            self._fail(number, target, _Unknown(), self.order.due)
            return None
        try:
            found, test["etag"] = self.network.fetch(self.api, test["name"], test["etag"])
        except (Refused, Unavailable) as error:
            if isinstance(error, Unavailable) and not self.is_late:
                return max(float(self.network.POLL_S), getattr(error, "wait_s", 0.0))
            self._fail(number, target, error, self.order.due)
            return None
        if found is not None:
            self.work.raw[number] = found
        kept = self.work.raw.get(number)
        if kept is not None and (self.network.is_done(kept) or self.is_late):
            row = _first(self.network, self.order, kept, target)
            self.work.results[number] = row or self._failure(target, _Late(), self.order.due)
            return None
        if self.is_late:
            self._fail(number, target, _Late(), self.order.due)
            return None
        return float(self.network.POLL_S)

    def _fail(self, number: str, target: Target, error: NephoscopeError, at: float) -> None:
        log.warning("%s of %s: %s", self.order.unit, self.order.campaign, error)
        self.work.results[number] = self._failure(target, error, at)

    def _failure(self, target: Target, error: NephoscopeError, at: float) -> Row:
        """What went wrong, as a result: nothing is dropped."""
        status = next((s for kind, s in _STATUS if isinstance(error, kind)), ProbeStatus.NETWORK)
        head = {"probe": self.order.probe, "version": 1, "at": at}
        row: Row = self.network.failure(head, status, str(error))
        return {**row, "replies": [], "source": ""} if self.order.probe == "traceroute" else row


class _Late(Unavailable):
    """No result arrived before the order expired."""

    def __init__(self) -> None:
        super().__init__("no result in time")


class _Unknown(Unavailable):
    """A process ended between asking and hearing."""

    def __init__(self) -> None:
        super().__init__("whether the network took it is not known, and nothing is paid twice")


_STATUS = (
    (Busy, ProbeStatus.BUSY),
    (MalformedAnswer, ProbeStatus.MALFORMED),
    (_Late, ProbeStatus.TIMEOUT),
    ((BadInput, Refused), ProbeStatus.NOT_PERMITTED),
)


def _first(
    network: ModuleType, order: Order, found: Mapping[str, Any], target: Target
) -> Row | None:
    """Return the result of the one requested probe, if there is any."""
    results = list(network.results(found, order.probe, str(target["host"])))
    return {**results[0], "at": results[0]["at"] or order.due} if results else None


def _build_message(order: Order, work: Work) -> ResultsMessage:
    rows = [
        {
            "slot": int(number),
            "late_s": work.tests.get(number, {}).get("late_s", 0.0),
            "result": {k: v for k, v in result.items() if k != "target"},
        }
        for number, result in sorted(work.results.items(), key=lambda r: int(r[0]))
    ]
    return ResultsMessage(RESULT, {**order.head, "missed": {}}, columns_of(rows, COLUMNS))
