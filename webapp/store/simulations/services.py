"""State transitions of runs of experiments.

Anonymous runs are opened by their token and expire. Others are private to their owner.
"""

import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from core.errors import NephoscopeError
from webapp.store.access.visibility import visible
from webapp.store.leases import JobTable
from webapp.store.models import Simulation

State = Simulation.State
# Runs of one maker, and of all, that have not ended.
MAX_OPEN, MAX_OPEN_OF_ALL = 4, 32
# Lifetime and number of anonymous runs.
KEPT_DAYS, MAX_ANONYMOUS = 30, 500
RUNS = JobTable(Simulation, waits_as=State.QUEUED)


class TooManySimulations(NephoscopeError):
    """So many simulations wait or run that one more is refused."""

    permanent = False


def create(experiment: str, parameters: Mapping[str, Any], seed: int, owner: Any) -> Simulation:
    """Store a run with checked parameters; raises ``TooManySimulations``."""
    rows = Simulation.objects.filter(state__in=(State.QUEUED, State.RUNNING))
    if rows.filter(owner=owner).count() >= MAX_OPEN or rows.count() >= MAX_OPEN_OF_ALL:
        raise TooManySimulations(
            f"{MAX_OPEN} simulations wait or run; cancel one, or try again when one has ended"
        )
    _delete_expired()
    return Simulation.objects.create(
        token=secrets.token_urlsafe(18),
        owner=owner,
        experiment=experiment,
        parameters=dict(parameters),
        seed=seed,
    )


def find(token: str, user: Any) -> Simulation | None:
    """Return the run of a token if it is visible to the user."""
    return visible(Simulation.objects.filter(token=token), user).first()


def find_findings(defaults: Mapping[str, Mapping[str, Any]]) -> dict[str, Simulation]:
    """The newest finished public run of each experiment with these parameters, by experiment."""
    rows = Simulation.objects.filter(
        owner=None, state=State.FINISHED, seed=1, experiment__in=defaults
    ).defer("result", "charts")
    found: dict[str, Simulation] = {}
    for row in rows[:MAX_ANONYMOUS]:
        if row.parameters == defaults[row.experiment]:
            found.setdefault(row.experiment, row)
    return found


def owned_by(user: Any) -> QuerySet[Simulation]:
    """Runs of a user, newest first; none without an account."""
    if user is None or not user.is_authenticated:
        return Simulation.objects.none()
    return Simulation.objects.filter(owner=user.pk)


def may_change(row: Simulation, user: Any) -> bool:
    """Whether the user may cancel or delete a run: its owner, or anyone who has its token."""
    return row.owner_id is None or row.owner_id == getattr(user, "pk", None)


def claim(pk: int) -> Simulation | None:
    """Lease a run; ``None`` where it has ended or another worker has it."""
    return RUNS.claim(pk, started_at=timezone.now(), progress=0.0)


def renew(row: Simulation, share: float) -> bool:
    """Extend the lease and store progress; false when the run is cancelled or another worker's."""
    return RUNS.renew(row, progress=min(max(share, 0.0), 1.0))


def finish(
    row: Simulation,
    result: Mapping[str, Any],
    headline: str,
    charts: Sequence[Mapping[str, Any]],
) -> bool:
    """Store the results, unless the run was cancelled or another worker has it by now."""
    found = {"result": dict(result), "charts": [dict(chart) for chart in charts]}
    return RUNS.finish(row, headline=headline, progress=1.0, **found)


def cancel(row: Simulation) -> bool:
    """Cancel a run that has not ended; its worker stops at its next report."""
    rows = Simulation.objects.filter(pk=row.pk, state__in=(State.QUEUED, State.RUNNING))
    return bool(rows.update(state=State.CANCELLED, finished_at=timezone.now(), leased_until=None))


def _delete_expired() -> None:
    """Delete expired anonymous runs, to bound the size of the database."""
    ended = Simulation.objects.filter(owner=None, finished_at__isnull=False)
    surplus = list(ended.values_list("pk", flat=True)[MAX_ANONYMOUS - 1 :])
    oldest = timezone.now() - timedelta(days=KEPT_DAYS)
    Simulation.objects.filter(Q(pk__in=surplus) | Q(owner=None, finished_at__lt=oldest)).delete()
