"""Due times of a schedule: cron expressions in a time zone, and intervals.

Cron follows Debian's cron where clocks change: a job of the hour that is left out runs when that
hour would have begun to be over, a job of the hour that comes twice runs once, and a job of every
hour runs in each.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from core.errors import BadInput

# The most frequent recurrence that an account may ask for.
MIN_INTERVAL_MINUTES = 60
MAX_INTERVAL_MINUTES = 366 * 24 * 60
# Number of consecutive due times with checked distances, which cover lists of hours and of days.
_CHECKED_TIMES = 100
# Missed due times are counted up to this number.
_MAX_MISSED = 10_000
# The name of a shorthand, and the expression for it.
SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
}


def check_zone(name: str) -> str:
    """The name of a time zone; raises ``BadInput``."""
    if name not in available_timezones():
        raise BadInput(
            f"{name[:80]!r} is not an IANA time zone such as Europe/Oslo", field="time_zone"
        )
    return name


def check_cron(expression: str, time_zone: str, now: datetime) -> str:
    """A cron expression of five fields, with shorthands resolved; raises ``BadInput``."""
    text = " ".join(expression.split())
    text = SHORTHANDS.get(text, text)
    if len(text.split()) != 5:
        raise BadInput(
            f"{expression[:80]!r} does not have the five fields minute, hour, day of month, month "
            "and day of week",
            field="cron",
        )
    try:
        times = list(islice(_cron_times(text, time_zone, now), _CHECKED_TIMES))
    except CronSimError as error:
        raise BadInput(f"{expression[:80]!r}: {str(error).lower()}", field="cron") from error
    if not times:
        raise BadInput(f"{expression[:80]!r} is never due", field="cron")
    least = timedelta(minutes=MIN_INTERVAL_MINUTES)
    if any(after - before < least for before, after in zip(times, times[1:], strict=False)):
        # In the night when clocks are set forward, two due times may fall together.
        close = [b - a for a, b in zip(times, times[1:], strict=False) if b - a < least]
        if len(close) > 1 or len(times) < _CHECKED_TIMES:
            raise BadInput(
                f"it is due more often than every {MIN_INTERVAL_MINUTES} minutes", field="cron"
            )
    return text


def check_interval(minutes: int) -> int:
    """An interval in minutes; raises ``BadInput``."""
    if not MIN_INTERVAL_MINUTES <= minutes <= MAX_INTERVAL_MINUTES:
        raise BadInput(
            f"give {MIN_INTERVAL_MINUTES} to {MAX_INTERVAL_MINUTES:,} minutes",
            field="interval_minutes",
        )
    return minutes


def explain(expression: str) -> str:
    """A cron expression in words: ``at 02:30 every day``."""
    text: str = CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC)).explain()
    return text[:1].lower() + text[1:]


def _cron_times(expression: str, time_zone: str, after: datetime) -> Iterator[datetime]:
    for moment in CronSim(expression, after.astimezone(ZoneInfo(time_zone))):
        yield moment.astimezone(UTC)


def due_times(
    cron: str, interval_minutes: int | None, time_zone: str, after: datetime
) -> Iterator[datetime]:
    """Due times after a moment, in UTC. Intervals count from that moment."""
    if cron:
        yield from _cron_times(cron, time_zone, after)
        return
    assert interval_minutes is not None
    moment = after
    while True:
        moment += timedelta(minutes=interval_minutes)
        yield moment


def first_after(
    cron: str, interval_minutes: int | None, time_zone: str, span: tuple[datetime, datetime]
) -> tuple[datetime | None, int]:
    """The first due time after ``span[1]``, and how many lie between its two moments.

    ``span[0]`` is a due time itself and not counted. None where the schedule is never due again.
    """
    last, now = span
    if interval_minutes is not None:
        passed = max(0, (now - last) // timedelta(minutes=interval_minutes))
        return last + timedelta(minutes=interval_minutes * (passed + 1)), passed
    missed = 0
    for moment in due_times(cron, None, time_zone, last):
        if moment > now:
            return moment, missed
        missed += 1
        if missed >= _MAX_MISSED:
            return next(due_times(cron, None, time_zone, now), None), missed
    return None, missed
