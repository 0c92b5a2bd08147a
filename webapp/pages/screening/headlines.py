"""The headline of a pool: verdicts and their causes in one sentence."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from core.wording import SMALL, percent
from webapp.store.screening.selectors import BAD, GOOD, UNKNOWN, InstanceRow, settle

# Its own sleeps are fine, and calls are not.
CALLED = "calls"
UNEXPLAINED = "no cause that their kernels count"
# Who is to blame, by the cause of the stalls.
BLAME = {
    "steal": "neighbours",
    "run delay": "their own load",
    "quota": "their own quota",
    "mixed": "several causes",
    "unexplained": UNEXPLAINED,
    "": CALLED,
}


_SHORT = {UNEXPLAINED: "unexplained", CALLED: "when called"}


def final_verdict(row: InstanceRow) -> str:
    """Return the final verdict of a machine."""
    return settle(row.verdict, row.truth)


def is_bad(row: InstanceRow) -> bool:
    """Bad in truth where calls were timed, else by its sleeps."""
    return final_verdict(row) == BAD


def is_contradicted(row: InstanceRow) -> bool:
    """Return whether network tests contradict the verdict."""
    return {row.verdict, row.truth} == {GOOD, BAD}


def pool_headline(rows: Sequence[InstanceRow]) -> str:
    """The headline of a pool."""
    judged = [row for row in rows if row.verdict or row.truth]
    whole, bad = len(judged), [row for row in judged if is_bad(row)]
    if not whole:
        return "No machine has reported yet"
    noun = "instance" if whole == 1 else "instances"
    if bad:
        return _describe_bad(bad, whole, noun)
    good = sum(final_verdict(row) == GOOD for row in judged)
    if good == whole:
        return "The one instance is good" if whole == 1 else f"All {whole:,} {noun} are good"
    if all(final_verdict(row) == UNKNOWN for row in judged):
        return f"{whole:,} {noun}, none measured for long enough to tell"
    return f"{good:,} of {whole:,} {noun} {'is' if good == 1 else 'are'} good, none is surely bad"


def _describe_bad(bad: Sequence[InstanceRow], whole: int, noun: str) -> str:
    blamed = Counter(BLAME.get(row.cause if row.verdict == BAD else "", row.cause) for row in bad)
    count = len(bad)
    have, are = ("has", "is") if count == 1 else ("have", "are")
    head = f"{count:,} of {whole:,} {noun}" if whole > count else f"All {whole:,} {noun}"
    if whole == 1:
        head = "The one instance"
    if set(blamed) == {"neighbours"}:
        return f"{head} {have} long-tail neighbours"
    if set(blamed) == {CALLED}:
        return f"{head} {are} slow when others call {'it' if count == 1 else 'them'}"
    if len(blamed) == 1:
        return f"{head} {are} slowed by {_own(next(iter(blamed)), count)}"
    parts = [
        f"{number:,} {_SHORT.get(who) or 'by ' + _own(who, number)}"
        for who, number in blamed.most_common()
    ]
    return f"{head} {are} slow: {', '.join(parts)}"


def _own(who: str, count: int) -> str:
    return who.replace("their", "its") if count == 1 else who


def shares_headline(rows: Sequence[Mapping[str, Any]], what: str) -> str:
    """Return the finding of shares of good machines by ``what``, best first."""
    if not rows:
        return f"No screened machine has reported its {what}"
    best, worst = rows[0], min(rows, key=lambda row: row["high"])
    if len(rows) == 1:
        return f"{_good_part(best)} machines in {_name(best)} are good"
    if best["low"] > worst["high"]:
        return (
            f"{_name(best)}: {_good_part(best)} machines are good; "
            f"{_name(worst)}: {_good_part(worst)}"
        )
    return f"No difference between {len(rows)} {what}s is certain"


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['place']} ({row['code']})" if row["place"] else str(row["code"])


def _good_part(row: Mapping[str, Any]) -> str:
    if row["n"] < SMALL:
        return f"{row['good']} of {row['n']}"
    return f"{percent(row['share'])} of {row['n']:,}"
