"""Find a feasible set by integer programming, or prove that there is none."""

from typing import Any

import highspy
import numpy as np

from analysis.optimization.model.constraints import Limits


def find_allowed(limits: Limits, regions: int, size: int) -> tuple[int, ...] | None:
    """Return the cheapest feasible set, or None if no set of this size is feasible."""
    highs: Any = highspy.Highs
    solver = highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("mip_rel_gap", 0.0)
    low, high = np.zeros(regions), np.ones(regions)
    low[list(limits.inside)] = 1
    high[list(limits.outside)] = 0
    if size > regions or (low > high).any():
        return None
    solver.addVars(regions, low, high)
    everyone = np.arange(regions, dtype=np.int32)
    whole = np.full(regions, highspy.HighsVarType.kInteger)
    solver.changeColsIntegrality(regions, everyone, whole)
    solver.changeColsCost(regions, everyone, np.array(limits.price, dtype=np.float64))
    for bottom, top, members in _sums(limits, regions, size):
        solver.addRow(float(bottom), float(top), len(members), members, np.ones(len(members)))
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    chosen = np.flatnonzero(np.array(solver.getSolution().col_value) > 0.5)
    found = tuple(int(j) for j in chosen)
    return found if limits.allow(found) else None


def _sums(limits: Limits, regions: int, size: int) -> list[tuple[int, int, Any]]:
    """Return the constraints as rows (minimum, maximum, members)."""
    rows = [(size, size, np.arange(regions, dtype=np.int32))]
    provider = np.array(limits.provider)
    for kind, capacity in enumerate(limits.capacity):
        members = np.flatnonzero(provider == kind).astype(np.int32)
        rows.append((0, min(capacity, size), members))
    for group, need in zip(limits.groups, limits.needs, strict=True):
        rows.append((need, size, np.array(group, dtype=np.int32)))
    return rows
