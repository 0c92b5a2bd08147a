import numpy as np
import pytest

from simulator.hypervisor.receive_offload import (
    CELL_PACKETS,
    Receiver,
    arrive_over_paths,
    receive_packets,
)

FAST = Receiver(0.01, 0.01, 0.01)
SLOW = Receiver(0.5, 1.4, 6.0)


@pytest.mark.parametrize("algorithm", ["none", "official", "reordering"])
@pytest.mark.parametrize("receiver", [FAST, SLOW])
@pytest.mark.parametrize("spread_us", [0, 100])
def test_each_packet_is_in_one_segment_or_dropped(algorithm, receiver, spread_us):
    arrivals = arrive_over_paths(10_000, 10, 2, spread_us, seed=1)
    found = receive_packets(receiver, *arrivals, algorithm)
    assert found.sizes.sum() + round(found.dropped * 10_000) == 10_000
    assert found.sizes.max() <= (1 if algorithm == "none" else CELL_PACKETS)
    assert found.busy <= 1 + 1e-9


def test_paths_keep_their_order_and_cells_overtake_each_other():
    times, numbers = arrive_over_paths(10_000, 10, 2, 100, seed=1)
    assert np.all(np.diff(times) >= 0)
    for path in range(2):
        on_path = numbers[numbers // CELL_PACKETS % 2 == path]
        assert np.all(np.diff(on_path) > 0)
    assert np.any(np.diff(numbers) < 0)


def test_a_list_of_segments_hides_reordering_and_one_segment_does_not():
    arrivals = arrive_over_paths(10_000, 10, 2, 100, seed=1)
    official, listed = (receive_packets(FAST, *arrivals, a) for a in ("official", "reordering"))
    assert official.out_of_order > 0.3
    assert listed.out_of_order < 0.01
    assert listed.sizes.mean() > 5 * official.sizes.mean()


def test_in_order_both_do_the_same():
    arrivals = arrive_over_paths(10_000, 8, 2, 0, seed=1)
    official, listed = (receive_packets(SLOW, *arrivals, a) for a in ("official", "reordering"))
    assert official.out_of_order == listed.out_of_order == 0
    assert official.dropped == listed.dropped == 0
    assert listed.busy == pytest.approx(official.busy, rel=0.05)
