"""A run of repeated round trips: the target is checked, then measured by the probe's method."""

from collections.abc import Callable
from typing import Protocol

from core.clock import Clock
from probes.net.ssrf_guard import Endpoint, Refusal, admit
from probes.records import Attempt, RoundTrips, Target, status_of


class Prefixes(Protocol):
    """Options of every probe: networks that are permitted or refused beyond the usual ones."""

    @property
    def allow(self) -> tuple[str, ...]: ...

    @property
    def deny(self) -> tuple[str, ...]: ...


def measure_round_trips(
    probe: tuple[str, int],
    target: Target,
    config: Prefixes,
    clock: Clock,
    measure: Callable[[Endpoint], tuple[str, tuple[Attempt, ...]]],
) -> RoundTrips:
    """Return the record of one run; ``measure`` returns its method and attempts.

    ``probe`` is the name and version. Raises ``ValueError`` for prefixes that are none.
    """
    at = clock.now().timestamp()
    admitted = admit(target, config.allow, config.deny)
    if isinstance(admitted, Refusal):
        return admitted.outcome(RoundTrips, probe, target, at)
    method, attempts = measure(admitted)
    return RoundTrips(
        probe=probe[0],
        version=probe[1],
        target=target,
        address=admitted.address,
        at=at,
        status=status_of(attempts),
        method=method,
        attempts=attempts,
    )
