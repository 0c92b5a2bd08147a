"""Find the cloud end and the client end of every row.

The ends are address numbers of the cache. A row belongs to the cloud of its responder, else to
that of its originator.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cartography.traffic.address_cache import NOWHERE, CacheView, LabelArrays, Labels, Mask, Numbers

LocalFlags = NDArray[np.int8]


@dataclass(frozen=True)
class Endpoints:
    """Arrays over rows: the label of the cloud end (-1 for none), and the direction."""

    page: CacheView
    originators: Numbers
    responders: Numbers
    label: Labels
    # Whether the cloud's end is the responder: the client opened towards the cloud.
    is_toward: Mask
    # Whether the client is inside.
    is_inside: Mask

    @property
    def is_readable(self) -> Mask:
        """Whether both ends are addresses."""
        return np.logical_and(self.originators, self.responders)

    def clients(self, rows: Numbers) -> Numbers:
        """Numbers of the ends that are the clients."""
        return np.where(self.is_toward[rows], self.originators[rows], self.responders[rows])

    def servers(self, rows: Numbers) -> Numbers:
        """Numbers of the ends that are the cloud's."""
        return np.where(self.is_toward[rows], self.responders[rows], self.originators[rows])


def find_endpoints(
    page: CacheView,
    ends: list[Numbers],
    atlas: LabelArrays,
    stated: tuple[LocalFlags, LocalFlags],
    is_named: bool,
) -> Endpoints:
    """Determine the cloud end and the client end of each row.

    ``stated`` is whether each end is local: 1, 0, or -1 for none. A provider's
    own services count only where no end is in a cloud.
    """
    first, second = page.labels[ends[0]], page.labels[ends[1]]
    toward = atlas.is_cloud[second] | (~atlas.is_cloud[first] & (second != NOWHERE))
    label = np.where(toward, second, first)
    near = np.where(toward, page.is_near[ends[0]], page.is_near[ends[1]])
    if not is_named:
        word = np.where(toward, *stated)
        # Without a word from anyone, the end that is in no cloud is the client.
        in_cloud = atlas.is_cloud[np.where(toward, first, second)]
        near = near | (word == 1) | ((word == -1) & ~in_cloud)
    return Endpoints(page, ends[0], ends[1], label, toward, near)


def text_column(numbers: Numbers, write: Callable[[int], str]) -> pa.Array:
    """A text for each number, each distinct one written once."""
    distinct, back = np.unique(numbers, return_inverse=True)
    return pa.array([write(n) for n in distinct.tolist()], pa.string()).take(pa.array(back))
