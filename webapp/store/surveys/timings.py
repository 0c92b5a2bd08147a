"""What each stage of a shard or survey took of this process, in CPU and wall seconds."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic, process_time

StageTimes = dict[str, dict[str, float]]


class Stages:
    """Seconds by stage; ``taken`` is ``{stage: {cpu_s, wall_s}}``."""

    def __init__(self) -> None:
        self.taken: StageTimes = {}

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Count what happens inside for ``stage``."""
        cpu_s, wall_s = process_time(), monotonic()
        try:
            yield
        finally:
            spent = {"cpu_s": process_time() - cpu_s, "wall_s": monotonic() - wall_s}
            self.taken = add_stages([self.taken, {stage: spent}])


def add_stages(parts: Iterable[Mapping[str, Mapping[str, float]]]) -> StageTimes:
    """Sums by stage, to the millisecond."""
    total: StageTimes = {}
    for part in parts:
        for stage, spent in part.items():
            so_far = total.setdefault(stage, {"cpu_s": 0.0, "wall_s": 0.0})
            for unit, seconds in spent.items():
                so_far[unit] = round(so_far[unit] + seconds, 3)
    return total
