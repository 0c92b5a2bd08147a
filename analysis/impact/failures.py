"""Cost of the failure of one region, provider, zone or downstream ISP.

Clients move to the next best region that answered them in the same round. A failure may cut a
region off for a share of its routes only; shares of different regions are taken as independent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.impact.assignment import Assignment, Floats
from analysis.impact.places import Region
from analysis.impact.routes import Routes

# Smaller weights are rounding errors.
MIN_MASS = 1e-12
# The kind of the first row of failures: what all get while everything works.
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Loss:
    """One failure; shares are of weighted client-rounds that had an answer before.

    ``clients_moved`` counts clients with a failed home, ``clients_lost`` those without a
    region in any round; both are expectations where only a share of routes fails. ``added`` is the
    mean worsening of those who move. ``value`` is the mean of the same client-rounds as without a
    failure, where those that are lost cost what a missing answer costs: it never gets better. It is
    None where no client is served any more.
    """

    kind: str
    name: str
    cut: Mapping[str, float]
    clients_moved: float
    moved: float
    clients_lost: float
    lost: float
    added: float | None
    value: float | None
    note: str = ""


def losses(serving: Assignment, facts: Mapping[str, Region], routes: Routes) -> list[Loss]:
    """Return what holds if nothing fails, then every single failure that touches the set.

    Failures are of regions, zones, providers and ISPs.
    """
    order = _Order(serving)
    nothing = order.fail(NOTHING, "", {})
    regions = [order.fail("region", name, {name: 1.0}) for name in serving.regions]
    found = [nothing, *regions, *_zones(serving, facts, regions, nothing.value)]
    providers: dict[str, dict[str, float]] = {}
    for name in serving.regions:
        if facts[name].provider:
            providers.setdefault(facts[name].provider, {})[name] = 1.0
    found += [order.fail("provider", name, cut) for name, cut in sorted(providers.items())]
    for isp, shares in sorted(routes.items()):
        cut = {name: shares[name] for name in serving.regions if shares.get(name)}
        if cut:
            found.append(order.fail("isp", isp, cut))
    return found


def unknown_routes(serving: Assignment, routes: Routes) -> list[str]:
    """Return the regions without known downstream ISPs."""
    known = {name for shares in routes.values() for name in shares}
    return [name for name in serving.regions if name not in known]


class _Order:
    """Regions of a set by preference of each client-round, sorted once for all failures."""

    def __init__(self, serving: Assignment) -> None:
        self.serving = serving
        self.order = np.argsort(serving.costs, axis=0, kind="stable")
        self.costs = np.take_along_axis(serving.costs, self.order, axis=0)
        self.answers = np.isfinite(self.costs)

    def fail(self, kind: str, name: str, cut: Mapping[str, float]) -> Loss:
        """Return what it costs when each region loses its share of routes."""
        s = self.serving
        shares = np.array([cut.get(region, 0.0) for region in s.regions])
        fails = shares[self.order]
        # A region is reached if it works and all better ones do not.
        down = np.cumprod(np.where(self.answers, fails, 1.0), axis=0)
        reached = np.concatenate([np.ones((1, *down.shape[1:])), down[:-1]])
        reached = np.where(self.answers, reached * (1 - fails), 0.0)
        answered = self.answers[0]
        lost = np.where(answered, down[-1], 0.0)
        # Of the clients of a failed best region, those that are not lost have moved.
        moved = np.where(answered, fails[0] - lost, 0.0)
        clients_moved, clients_lost = self._homes(shares, lost)
        added, value = self._worsening(reached, moved, down[-1])
        shares_of = self._mass(moved), self._mass(lost)
        return Loss(
            kind,
            name,
            dict(cut),
            clients_moved,
            shares_of[0],
            clients_lost,
            shares_of[1],
            added,
            value,
        )

    def _homes(self, shares: Floats, lost: Floats) -> tuple[float, float]:
        """Return how many clients move and are lost, by their homes."""
        homes = self.serving.homes
        at_home = homes >= 0
        never = np.where(self.answers[0], lost, 1.0).min(axis=1) * at_home
        failing = np.where(at_home, shares[homes], 0.0)
        return float((failing - np.minimum(never, failing)).sum()), float(never.sum())

    def _mass(self, part: Floats) -> float:
        mass = self.serving.mass
        whole = float((mass * self.answers[0]).sum())
        return float((part * mass).sum()) / whole if whole else 0.0

    def _worsening(
        self, reached: Floats, moved: Floats, down: Floats
    ) -> tuple[float | None, float | None]:
        """Return the mean worsening of those who move, and the mean of all, if anyone is
        served."""
        s = self.serving
        costs = np.where(self.answers, self.costs, 0.0)
        worse = (reached[1:] * (costs[1:] - costs[0])).sum(axis=0)
        after = (reached * costs).sum(axis=0) + down * s.lost
        totals = [float((x * s.mass).sum()) for x in (worse, moved, reached.sum(0))]
        added = totals[0] / totals[1] if totals[1] > MIN_MASS else None
        if totals[2] <= MIN_MASS:
            return added, None
        value = float((after * s.answered_mass).sum()) / float(s.answered_mass.sum())
        return added, value * (1 if s.faster else -1)


def _zones(
    serving: Assignment, facts: Mapping[str, Region], whole: Sequence[Loss], mean: float | None
) -> Iterator[Loss]:
    """One zone of a region: with others beside it, clients stay in the region."""
    homes = np.bincount(serving.homes[serving.homes >= 0], minlength=len(serving.regions))
    for place, loss in enumerate(whole):
        zones = facts[loss.name].zones
        if zones == 1:
            yield replace(loss, kind="zone", note="the only zone in use, so the region fails")
        elif zones:
            share = (loss.moved + loss.lost) / zones
            note = f"one of {zones} zones; the others of the same region take over"
            moved = float(homes[place]) / zones
            yield Loss("zone", loss.name, {}, moved, share, 0.0, 0.0, 0.0, mean, note)
