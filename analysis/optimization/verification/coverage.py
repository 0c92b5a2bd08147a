"""Check that the boxes of a certificate are disjoint and hold every set."""

from collections.abc import Sequence
from math import comb

import numpy as np

from analysis.optimization.model.constraints import Limits
from analysis.optimization.solver.certificate import Box, GroupBox
from analysis.optimization.verification.deadlines import Deadline


def check_cover(
    boxes: Sequence[Box | GroupBox], limits: Limits, size: int, regions: int, deadline: Deadline
) -> list[str]:
    """Return the errors of boxes that are to cover all sets of a size."""
    held = frozenset(limits.inside), frozenset(limits.outside)
    if _overlap(boxes, regions, deadline):
        return ["two boxes hold the same set"]
    sets = 0
    for box in boxes:
        if not (held[0] <= box.inside and held[1] <= box.outside):
            return ["a box is wider than the constraints"]
        free = regions - len(box.inside | box.outside)
        sets += comb(free, size - len(box.inside)) if size >= len(box.inside) else 0
    everyone = comb(regions - len(held[0] | held[1]), max(size - len(held[0]), 0))
    return [] if sets == everyone else ["the boxes do not hold every set"]


def _overlap(boxes: Sequence[Box | GroupBox], regions: int, deadline: Deadline) -> bool:
    inside = np.zeros((len(boxes), regions), bool)
    outside = inside.copy()
    for a, box in enumerate(boxes):
        inside[a, list(box.inside)] = outside[a, list(box.outside)] = True
    ins, outs = np.packbits(inside, axis=1), np.packbits(outside, axis=1)
    for a in range(1, len(ins)):
        deadline.check()
        apart = (ins[:a] & outs[a]).any(axis=1) | (outs[:a] & ins[a]).any(axis=1)
        if not apart.all():
            return True
    return False
