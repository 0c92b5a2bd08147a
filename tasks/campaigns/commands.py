"""What people and programs ask of campaigns, the same from page, API and command line.

Each call checks who asks; what may not be seen is not there.
"""

import csv
import io
import json
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from cartography.ranges.regions import all_regions
from core.clock import FakeClock, SystemClock
from core.errors import BadInput, Conflict, Unavailable
from probes.schedule.rehearsal import rehearse
from tasks.campaigns import conclusion, scheduler, vantage_selection
from tasks.platform.app import AWAY, queue
from tasks.protocol.work_order import STOPPED
from tasks.vantage_admin import enrolment
from webapp.store.access import domain_claims
from webapp.store.access.visibility import OPERATOR, Operator, may_manage, owner_of
from webapp.store.campaigns import selectors, services, units
from webapp.store.campaigns.plans import (
    TARGET_FIELDS,
    Definition,
    VantageProfiles,
    build_definition,
    target_rows,
)
from webapp.store.campaigns.services import CreationOptions
from webapp.store.models import Campaign
from webapp.store.vantages import services as vantage_services

# Campaigns of one account that wait or run at once.
MOST_OPEN = 5
# Targets of a campaign of synthetic vantage points that the form proposes.
TRIAL_TARGETS = 8
# Limits of an account per target, regardless of the target's owner; operators set other limits.
MOST_OF_ACCOUNTS = {
    "bytes_per_target_and_day": 50_000_000_000,
    "probes_per_target_and_day": 50_000,
}


def read_file(data: bytes, name: str = "") -> dict[str, Any]:
    """A schedule, or a whole definition, as TOML or JSON; raises ``BadInput``."""
    try:
        text = data.decode("utf-8-sig")
        # A JSON document starts with a brace: a TOML document never does.
        found = _from_json(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{name or 'the file'} cannot be read: {error}", field="schedule") from error
    return found


def _from_json(text: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except ValueError as error:
        raise BadInput(f"the file cannot be read: {error}", field="schedule") from error


def read_target_file(data: bytes) -> list[Any]:
    """Targets as JSON (a list) or CSV; raises ``BadInput``."""
    try:
        text = data.decode("utf-8-sig")
        return list(json.loads(text)) if text.lstrip().startswith("[") else target_rows(text)
    except ValueError as error:
        raise BadInput(f"the targets cannot be read: {error}", field="targets") from error


def unfinished_here(name: str) -> Campaign | None:
    """The campaign of this name that a process began to measure by itself, and did not finish."""
    return services.unfinished_here(name) if name else None


def working_vantages(user: Any = OPERATOR) -> list[str]:
    """Names of all vantage points that take work."""
    rows = vantage_services.points(user).filter(state=vantage_services.State.JOINED)
    return list(rows.values_list("name", flat=True))


def default_vantages(user: Any = OPERATOR) -> list[str]:
    """Names of those that take work where none is named: synthetic ones are no default."""
    rows = vantage_services.points(user).filter(state=vantage_services.State.JOINED)
    rows = rows.exclude(source=vantage_services.Source.SYNTHETIC)
    return list(rows.values_list("name", flat=True))


def trial_targets_csv() -> str:
    """One target in each region of EC2, for synthetic vantage points; no such host exists."""
    # Regions for governments are closed to most readers.
    codes = [region.code for region in all_regions("aws") if "-gov-" not in region.code]
    rows = [
        {"host": f"{code}.synthetic.invalid", "provider": "aws", "region": code}
        for code in codes[:: max(1, len(codes) // TRIAL_TARGETS)][:TRIAL_TARGETS]
    ]
    return _csv_of(rows, ("host", "provider", "region"))


def plan(asked: Mapping[str, Any], user: Any = OPERATOR, *, here: bool = False) -> Definition:
    """What a campaign would do and cost; nothing is stored. Raises ``BadInput``.

    With ``here`` its vantage points are only names; else they may be selected by place.
    """
    names = [str(v) for v in asked.get("vantages") or ()]
    if not here:
        names = vantage_selection.expand(names, user)
        asked = {**asked, "vantages": names}
    ends = VantageProfiles() if here else services.read_vantage_profiles(names, user)
    operator = isinstance(user, Operator) or is_staff(user)
    # Who may see it is no part of what is measured.
    asked = {k: v for k, v in asked.items() if k != "public"}
    found = build_definition(asked if operator else _capped(asked), ends, operator=operator)
    if not found.is_synthetic:
        domain_claims.check_targets(found.targets, user, is_operator=operator)
    return found


def _capped(asked: Mapping[str, Any]) -> dict[str, Any]:
    """With limits no higher than an account's."""
    given = asked.get("limits") or {}
    if not isinstance(given, Mapping):
        return dict(asked)
    capped = {k: min(v, given.get(k, v)) for k, v in MOST_OF_ACCOUNTS.items()}
    return {**asked, "limits": {**given, **capped}}


def rehearsal(found: Definition, dying: float) -> dict[str, Any]:
    """A plan gone through on its own clock, a share of its vantage points dying."""
    if not 0 <= dying <= 1:
        raise BadInput(f"{dying} is not a share; it is from 0 to 1", field="--dying")
    return rehearse(found.plan, FakeClock(), dying, found.plan.seed).as_json()


def is_staff(user: Any) -> bool:
    """Return whether the account is an operator of this installation."""
    return bool(getattr(user, "is_staff", False))


def start(
    asked: Mapping[str, Any],
    user: Any = OPERATOR,
    *,
    here: bool = False,
    cloned_from: Campaign | None = None,
) -> Campaign:
    """Store a campaign, to be begun by the scheduler; raises ``BadInput``."""
    owner = owner_of(user)
    if owner is not None and not is_staff(user):
        _refuse_too_many(owner)
    given = CreationOptions(
        owner=owner,
        is_public=bool(asked.get("public")),
        starts_at=_moment(asked.get("starts_at")),
        in_process=here,
        label=str(asked.get("label") or ""),
        idempotency_key=str(asked.get("idempotency_key") or ""),
        cloned_from=cloned_from,
    )
    return services.create(plan(asked, user, here=here), given)


def _refuse_too_many(owner: Any) -> None:
    if services.count_open(owner) >= MOST_OPEN:
        raise Conflict(f"{MOST_OPEN} of your campaigns wait or run; stop one, or wait for its end")


def _moment(given: Any) -> datetime | None:
    if not given:
        return None
    try:
        found = given if isinstance(given, datetime) else datetime.fromisoformat(str(given).upper())
    except ValueError as error:
        raise BadInput(
            f"{given!r} is not a moment such as 2026-05-01T06:00Z", field="starts_at"
        ) from (error)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def clone(campaign: Campaign, changed: Mapping[str, Any], user: Any = OPERATOR) -> Campaign:
    """Start the same again, some fields otherwise; raises ``BadInput``."""
    asked = services.variant_of(campaign, changed)
    if not (isinstance(user, Operator) or is_staff(user)):
        asked.pop("allow", None)
    here = campaign.in_process and isinstance(user, Operator)
    return start(asked, user, here=here, cloned_from=campaign)


def schedule_again(campaign: Campaign, changed: Mapping[str, Any]) -> dict[str, Any]:
    """The schedule of a campaign, for other ends laid out again."""
    schedule: dict[str, Any] = services.variant_of(campaign, changed)["schedule"]
    return schedule


def targets_csv(campaign: Campaign) -> str:
    """The targets of a campaign as a CSV that may be changed."""
    return _csv_of(campaign.targets, TARGET_FIELDS)


def _csv_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def find(slug: str, user: Any = OPERATOR) -> Campaign:
    """A campaign that the user may see; raises ``BadInput`` where there is none."""
    found = selectors.campaign(slug, user)
    if found is None:
        raise BadInput(f"there is no campaign {slug!r}")
    return found


def may_change(campaign: Campaign, user: Any) -> bool:
    """Whether a user may pause or stop a campaign: an operator, or who manages it."""
    return isinstance(user, Operator) or is_staff(user) or may_manage(campaign, user)


def pause(campaign: Campaign) -> bool:
    """Send nothing more for now; false when it was not running."""
    return services.pause(campaign, SystemClock().now())


def resume(campaign: Campaign) -> bool:
    """Continue; false when it was not paused."""
    return services.resume(campaign, SystemClock().now())


def stop(campaign: Campaign) -> bool:
    """End a campaign and have what was measured reported; false when it had ended."""
    now = SystemClock().now()
    if not services.stop(campaign, now):
        return False
    out = units.vantages_out(campaign)
    units.miss_rest(campaign, STOPPED, now)
    # Where the broker is away, they measure what they have to its end.
    with suppress(Unavailable):
        enrolment.publish_all_orders(out)
    if campaign.started_at is not None:
        _report_last(campaign)
    return True


def _report_last(campaign: Campaign) -> None:
    """Build the tables in a worker, since no caller waits for them; in this process where no worker
    can be reached.
    """
    if not campaign.in_process:
        with suppress(*AWAY):
            return queue(scheduler.report, campaign.pk)
    return conclusion.report(campaign)


ACTIONS = {"pause": pause, "resume": resume, "stop": stop}
