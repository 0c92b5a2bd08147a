"""The public comparison of instance types over the pools of tenants that contribute."""

from dataclasses import asdict
from typing import Any

from screening.statistics.good_shares import Machine
from screening.statistics.publication import (
    K_TENANTS,
    MAX_SHARE,
    MIN_MACHINES,
    Decision,
    Group,
    decide,
    describe,
)
from tasks.platform.app import app
from webapp.store.screening import publications
from webapp.store.screening.selectors import GOOD

LIMITS = {"tenants": K_TENANTS, "machines": MIN_MACHINES, "share": MAX_SHARE}
Row = dict[str, Any]


@app.task(name="tasks.screening.publish_types")
def refresh() -> None:
    """Publish, keep or withhold each type, as its machines and earlier publications permit."""
    known = {(row.provider, row.instance_type): row for row in publications.list_types()}
    groups = _groups()
    for key in {*known, *groups}:
        row, group = known.get(key), Group(groups.get(key, ()))
        history = row.history if row else []
        is_shown = row is not None and row.document is not None
        decision = decide(group, history, is_shown=is_shown)
        if decision is Decision.PUBLISH:
            publications.publish(*key, _document(group), group.digests())
        elif decision is Decision.WITHHOLD and row is not None and is_shown:
            publications.withhold(row)


def _groups() -> dict[tuple[str, str], list[Machine]]:
    """Contributed machines by provider and type; their pools are tenants."""
    found: dict[tuple[str, str], list[Machine]] = {}
    for one in publications.list_contributed():
        machine = Machine(one.tenant, one.instance_type, one.verdict == GOOD, one.p999_ms)
        found.setdefault((one.provider, one.instance_type), []).append(machine)
    return found


def _document(group: Group) -> Row:
    found = asdict(describe(group))
    found["tenants"] = found.pop("pools")
    del found["group"], found["effective"]
    return found


def list_rows() -> list[Row]:
    """Return the rows that are shown: those with the highest lower end of their interval first."""
    rows = [
        {
            "group": row.instance_type,
            "code": row.instance_type,
            "provider": row.provider,
            "place": "",
            "published_at": row.published_at,
            **row.document,
        }
        for row in publications.list_shown()
        if row.document
    ]
    return sorted(rows, key=lambda one: (-one["low"], -one["share"], one["group"]))
