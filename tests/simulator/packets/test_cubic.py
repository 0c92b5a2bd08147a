"""CUBIC beside RFC 9438 in plain Python, by the windows of single round trips."""

from dataclasses import dataclass

import numpy as np
import pytest

from simulator.packets.settings import Transport
from tests.simulator.packets.networks import simulate_pair

SCALE, BETA = 0.4, 0.7


@dataclass
class Rfc9438:
    """Congestion avoidance from a window, with the plateau and the window before the cut."""

    window: float
    plateau: float
    window_at_cut: float
    rtt_s: float

    def grow(self, rounds):
        """Windows of the round trips after the first; their acknowledgements arrive at once."""
        origin, first = max(self.plateau, self.window), self.window
        inflection_s = ((origin - first) / SCALE) ** (1 / 3)
        estimate, windows = first, []
        for passed in range(1, 1 + rounds):
            for _ in range(int(self.window)):
                target = origin + SCALE * ((passed + 1) * self.rtt_s - inflection_s) ** 3
                target = min(max(target, self.window), 1.5 * self.window)
                slow = estimate < self.window_at_cut
                estimate += (3 * (1 - BETA) / (1 + BETA) if slow else 1) / self.window
                self.window = max(self.window + (target - self.window) / self.window, estimate)
            windows.append(self.window)
        return np.array(windows)


def measure_windows(delay_s, losses, rounds):
    """Acknowledgements per round trip of one flow over a link that is never full."""
    transport = Transport("cubic", max_window=1024, minimum_timeout_s=0.2, initial_timeout_s=1.0)
    rtt_s = 6 * delay_s
    found = simulate_pair(
        transport,
        packets=10**6,
        rate_bps=100e9,
        delay_s=delay_s,
        losses=losses,
        rtt_samples=1 << 16,
        duration_s=rounds * rtt_s,
    )
    # The first acknowledgements arrive after a round trip and some transmission.
    return np.bincount((found.rtts[:, 0] / rtt_s - 0.5).astype(int)), found, rtt_s


def test_the_window_grows_as_that_of_reno_above_the_one_before_the_cut():
    # Slow start sends 10, 20 and 40 packets; the first one of the last is lost.
    windows, found, rtt_s = measure_windows(0.01, ((0, 30),), 45)
    assert (found.resent[0], found.timeouts[0]) == (1, 0)
    start = 5
    expected = Rfc9438(windows[start], 42.0, 42.0, rtt_s).grow(35)
    assert windows[start] == pytest.approx(0.7 * 42, abs=1)
    assert windows[start + 1 : start + 36] == pytest.approx(expected, abs=2)
    # With the lower rate alone the window would be 48 packets by then.
    assert windows[start + 35] > 52


def test_the_plateau_is_forgotten_at_a_timeout():
    # All packets of a round trip are lost; slow start ends at 28.
    losses = tuple((0, number) for number in range(30, 70))
    windows, found, rtt_s = measure_windows(0.1, losses, 24)
    assert found.timeouts[0] == 1
    start = int(np.argmax(windows == 28))
    expected = Rfc9438(28.0, 0.0, 40.0, rtt_s).grow(4)
    assert windows[start + 1 : start + 5] == pytest.approx(expected, abs=1.5)
