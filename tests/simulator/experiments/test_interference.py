"""Interference of tenants: jitter, and the shaping that its measurement asks of the kernel."""

import numpy as np
import pytest

from benchmarks.simulator.interference import network
from simulator.experiments import interference


def test_jitter_is_that_of_rfc_3550_in_simulation_and_measurement():
    transit = np.array([10.0, 26.0, 10.0, np.nan, 10.0])
    # Steps of 16, 16 and 0 ms, a sixteenth of each: 1, 1.9375, 1.81640625.
    assert interference.find_jitter(transit) == pytest.approx(1.81640625)
    sent = np.arange(4) * 20.0
    packets = [(s, s + t) for s, t in zip(sent, transit[np.isfinite(transit)], strict=True)]
    assert network.find_jitter(packets) == pytest.approx(1.81640625)


def test_classes_divide_the_link_and_only_shared_ones_may_borrow():
    shared, dedicated = (network.write_shaping(s, 1000, "v0") for s in ("shared", "dedicated"))
    for lines, ceil in ((shared, 1000), (dedicated, 500)):
        classes = [line for line in lines if "parent 1:1 " in line]
        assert len(classes) == 2
        assert all(f"rate 500kbit ceil {ceil}kbit" in line for line in classes)
    assert "tbf rate 1000kbit" in network.write_shaping("unshaped", 1000, "v0")[0]
