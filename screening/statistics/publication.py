"""Decide which groups of machines of several tenants are published, so that no tenant is found.

A group is published where it has machines of K tenants or more, enough machines, and no tenant
with most of them (k-anonymity, Sweeney 2002, with a rule against dominance). Differences of two
publications are protected as well: each two of them differ in the data of K tenants or more, or of
none. What one tenant adds, changes or withdraws is therefore never the difference of two.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from screening.statistics.good_shares import GoodShare, Machine, find_good_shares

K_TENANTS = 3
MIN_MACHINES = 20
# Of the machines of a group, those of one tenant.
MAX_SHARE = 0.6
# A digest of the data of each tenant, by tenant.
Digests = Mapping[str, str]


class Decision(StrEnum):
    """What becomes of the publication of a group."""

    KEEP = "keep"
    PUBLISH = "publish"
    WITHHOLD = "withhold"


@dataclass(frozen=True, slots=True)
class Group:
    """Machines of one group; the pool of a machine is its tenant."""

    machines: Sequence[Machine]

    def digests(self) -> dict[str, str]:
        """Return a digest of the machines of each tenant."""
        own: dict[str, list[tuple[bool, float]]] = {}
        for one in self.machines:
            own.setdefault(one.pool, []).append((one.is_good, one.p999_ms or -1.0))
        return {
            tenant: hashlib.sha256(json.dumps(sorted(rows)).encode()).hexdigest()
            for tenant, rows in own.items()
        }

    def is_large(self) -> bool:
        """Whether the group has enough tenants and machines, and none has most of them."""
        sizes: dict[str, int] = {}
        for one in self.machines:
            sizes[one.pool] = sizes.get(one.pool, 0) + 1
        n = len(self.machines)
        return (
            n >= MIN_MACHINES and len(sizes) >= K_TENANTS and max(sizes.values()) <= MAX_SHARE * n
        )


def decide(group: Group, published: Sequence[Digests], *, is_shown: bool) -> Decision:
    """Return what to do with a group, ``published`` being all that was published of it before.

    ``is_shown`` is false where the last publication was withheld again.
    """
    now = group.digests()
    if is_shown and published[-1] == now:
        return Decision.KEEP
    far = all(len(find_changed(now, before)) >= K_TENANTS for before in published)
    if group.is_large() and far:
        return Decision.PUBLISH
    # A tenant without machines by now must not be counted any longer.
    has_left = is_shown and bool(set(published[-1]) - set(now))
    return Decision.KEEP if is_shown and group.is_large() and not has_left else Decision.WITHHOLD


def find_changed(one: Digests, other: Digests) -> set[str]:
    """Return the tenants that have other data in two publications, or are in one of them alone."""
    return {tenant for tenant in {*one, *other} if one.get(tenant) != other.get(tenant)}


def describe(group: Group) -> GoodShare:
    """Return the shares of one group with intervals across tenants, from its machines alone.

    Percentiles of machines have two significant digits, since their median and its interval are
    values of single machines.
    """
    machines = [
        Machine(one.pool, one.group, one.is_good, _round(one.p999_ms)) for one in group.machines
    ]
    (found,) = find_good_shares(machines).groups
    return found


def _round(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.2g}")
