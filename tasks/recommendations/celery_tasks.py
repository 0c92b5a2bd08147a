"""Create recommendations and solve them, in a Celery worker or at once.

Files are read once and kept for further questions about the same samples.
"""

import json
import logging
import math
import threading
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from celery.signals import worker_process_init

from analysis.optimization import Objective, Study
from core.errors import BadInput, NephoscopeError
from tasks.platform.app import app
from tasks.platform.leased_rows import claim_row, queue_committed, queue_lost
from tasks.recommendations import from_domains
from tasks.recommendations.request import Known, Question, ask, read
from tasks.recommendations.solve import load_loops, recommend
from webapp.store.access.visibility import owner_of
from webapp.store.models import Recommendation, Survey
from webapp.store.recommendations import services
from webapp.store.recommendations.services import TooManyRecommendations

log = logging.getLogger(__name__)
# Regions times clients times rounds that a stored question may hold.
MAX_CELLS = 50_000_000
# Up to so many are answered while the caller waits; a size that is not proven after so long is
# left to a worker.
QUICK_CELLS = 1_000_000
QUICK_SIZES = 10
QUICK_S = 1.0
# Domains among which a page divides a joint budget while it waits.
QUICK_DOMAINS = 200
# What a page shows first may take so long; what is not proven by then is requested again.
AT_ONCE_S = 0.2
# Of a whole curve, each size.
EACH_SIZE_S = 0.4
# What a page waits for at most while all sizes are solved and their certificates checked: of the
# whole, of one size at once or given more time, and of the curve that is loaded beside it.
WHOLE_S, SET_S, PATIENT_S, CURVE_S = 1.5, 0.5, 2.0, 2.5


class Parts(StrEnum):
    """What of an answer is wanted: the whole, one size at once or proven, or the curve."""

    ALL = "all"
    SET = "set"
    PATIENT = "patient"
    CURVE = "curve"


# A page with interactive controls shows the set first; runners-up and intervals of all sizes follow
# in a separate request.
_EFFORTS: dict[Parts, dict[str, Any]] = {
    Parts.ALL: {"time_limit_s": EACH_SIZE_S, "total_limit_s": WHOLE_S},
    Parts.SET: {
        "runners_up": 0,
        "with_peer": False,
        "time_limit_s": AT_ONCE_S,
        "total_limit_s": SET_S,
    },
    Parts.PATIENT: {"runners_up": 0, "with_peer": False, "total_limit_s": PATIENT_S},
    Parts.CURVE: {
        "with_outlook": False,
        "with_peer": False,
        "time_limit_s": EACH_SIZE_S,
        "total_limit_s": CURVE_S,
    },
}
# Answers that one process works on at once, and how long another question waits for its turn.
_AT_ONCE = threading.BoundedSemaphore(2)
QUICK_WAIT_S = 10.0


def create(
    files: Mapping[str, bytes],
    options: Mapping[str, Any],
    key: str | None,
    *,
    at_once: bool = True,
    origin: services.Origin = services.ANONYMOUS,
) -> Recommendation:
    """Store a question and answer it if that is quick, else queue it; a known key gives its row.

    Raises BadInput, and then nothing is stored, and TooManyQuestions.
    """
    row = services.create(files, options, origin, idempotency_key=key)
    if row.result is not None or row.attempt:
        return row
    try:
        question = read_question(row)
        result = _quickly(question) if at_once else None
    except NephoscopeError:
        services.delete(row)
        raise
    claimed = services.claim(row.pk) if result else None
    if claimed and result:
        services.finish(claimed, result)
    else:
        submit(row)
    row.refresh_from_db()
    return row


def store_variant(
    row: Recommendation, options: Mapping[str, Any], user: Any = None
) -> Recommendation:
    """Store changed options for the same files as another row; raises as ``create``.

    It belongs to the user; to everyone with its address where the other does.
    """
    files = {n: path.read_bytes() for n, path in services.paths_of(row).items()}
    origin = services.Origin(row.owner and owner_of(user), row.title, row.survey, row.source)
    return create(files, {**row.options, **options}, None, origin=origin)


def read_question(row: Recommendation) -> Question:
    """The question of a row; raises BadInput naming the file, line or field."""
    return ask(_read(row), row.options)


def vary(
    row: Recommendation, options: Mapping[str, Any], *, parts: Parts = Parts.ALL
) -> dict[str, Any]:
    """The answer to other options for the same files, not stored; raises BadInput.

    What is not proven soon is given with its gap, and what is not checked soon is marked.
    """
    if row.result is None:
        raise BadInput("it is not answered yet")
    sizes = (row.result[name] for name in ("n_regions", "n_clients", "n_rounds"))
    if math.prod(sizes) > QUICK_CELLS:
        raise BadInput("the samples are too many for this; request a new recommendation")
    asked = json.dumps({**row.options, **options}, sort_keys=True, default=str)
    found: dict[str, Any] = _varied(row.token, asked, parts)
    return found


@lru_cache(maxsize=64)
def _varied(token: str, asked: str, parts: Parts) -> dict[str, Any]:
    """One varied answer; who goes back and forth between constraints waits once."""
    options = json.loads(asked)
    effort = dict(_EFFORTS[parts])
    if options.get("after_loss_ms") is not None:
        # The next best set under such a limit takes seconds; a kept recommendation gets its
        # runners-up.
        effort["runners_up"] = 0
    # The front and a budget of money take seconds; what is stored has them.
    asked_now = ask(_known(token), options)
    joint = asked_now.joint_budget if _can_divide_budget(asked_now, parts) else None
    question = replace(asked_now, **effort, front=False, joint_budget=joint, joint_cost=None)
    if len(question.ks) > QUICK_SIZES:
        raise BadInput(f"at most {QUICK_SIZES} sizes at once", field="k")
    found = _within(question, _study(token, question.objective), QUICK_WAIT_S)
    if found is None:
        raise TooManyRecommendations("too many are solving right now; try again in a moment")
    return found


def _can_divide_budget(question: Question, parts: Parts) -> bool:
    """Whether a joint budget is divided while a page waits: all sizes are solved anyway, and no
    group of domains has clients for which to solve again."""
    few = len(question.known.domains) <= QUICK_DOMAINS and not question.known.group_clients
    return few and parts in (Parts.ALL, Parts.CURVE)


def _quickly(question: Question) -> dict[str, Any] | None:
    """The answer if it is soon proven, or if no more time was requested."""
    is_large = question.samples.values.size > QUICK_CELLS or len(question.ks) > QUICK_SIZES
    is_joint = question.joint_budget is not None or question.joint_cost is not None
    if is_large or question.front or is_joint:
        return None
    result = _within(replace(question, total_limit_s=QUICK_S * QUICK_SIZES), None, 0.0)
    if result is None or not all(map(_is_checked, result["results"])):
        return None
    is_whole = all(row["proven"] for row in result["results"])
    return result if is_whole or question.time_limit_s <= QUICK_S else None


def _is_checked(row: Mapping[str, Any]) -> bool:
    return row["certificate"] is None or bool(row["certificate"]["checked"])


def _within(question: Question, study: Study | None, wait_s: float) -> dict[str, Any] | None:
    """Answer with a second for each size, when it is this question's turn in time."""
    if not _AT_ONCE.acquire(blocking=wait_s > 0, timeout=wait_s or None):
        return None
    try:
        quick = replace(question, time_limit_s=min(question.time_limit_s, QUICK_S))
        return recommend(quick, study=study)
    finally:
        _AT_ONCE.release()


def _read(row: Recommendation) -> Known:
    files = services.paths_of(row)
    return read(files.pop(services.SAMPLES), files, MAX_CELLS)


@lru_cache(maxsize=4)
def _known(token: str) -> Known:
    return _read(Recommendation.objects.get(token=token))


@lru_cache(maxsize=8)
def _study(token: str, objective: Objective) -> Study:
    return Study(_known(token).samples, objective)


def submit(row: Recommendation) -> None:
    """Queue a question once its row is committed; a broker that is away loses nothing."""
    queue_committed(solve, row.pk)


@app.task(name="tasks.advising.solve")
def solve(pk: int) -> None:
    """Answer one question unless another worker has it."""
    row = claim_row(pk, services.claim, services.fail, services.MAX_ATTEMPTS)
    if row is not None:
        answer(row)


def answer(row: Recommendation) -> None:
    """Answer a claimed question; what cannot be answered is stored with its reason."""
    try:
        question = read_question(row)

        def report(step: str, done: int, of: int) -> None:
            services.renew(row, step, done, of, 2 * question.time_limit_s)

        services.finish(row, recommend(question, report))
    except NephoscopeError as error:
        services.fail(row, str(error))


@app.task(name="tasks.advising.arrive")
def arrive(survey_id: int) -> None:
    """A survey has ended: ask what waited for it."""
    survey = Survey.objects.filter(pk=survey_id).first()
    for row in services.awaiting(survey) if survey else ():
        submit_awaiting(row)


def submit_awaiting(row: Recommendation) -> None:
    """Ask what waited for its survey, which has ended."""
    if from_domains.prepare(row):
        submit(row)


@app.task(name="tasks.advising.sweep")
def requeue_lost() -> None:
    """Take up questions that a broker or a worker lost, and those with a finished survey."""
    for row in services.awaiting_ended():
        submit_awaiting(row)
    queue_lost(solve, services.waiting())
    services.drop_orphans()


@worker_process_init.connect
def _warm(**_: Any) -> None:
    """A worker's first question does not wait for loops to be loaded."""
    preload_loops()


@lru_cache(maxsize=1)
def preload_loops() -> None:
    """Load compiled loops in a thread, once, before the first request needs them."""
    threading.Thread(target=load_loops, name="load loops", daemon=True).start()
