"""The credit scheduler and the queue of a host: bounds that hold for every run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.hypervisor.credit_scheduler import Host, simulate_credit_scheduler
from simulator.hypervisor.host_queue import Queue, simulate_drop_tail, simulate_managed_queue


def gaps(seed, n=2_000, mean_us=1_500):
    return 220 + np.random.default_rng(seed).exponential(mean_us, n)


def test_requests_wait_for_nothing_beside_no_neighbour():
    host = Host(n_neighbours=0)
    schedule = simulate_credit_scheduler(host, gaps(1), 1)
    assert schedule.delays_us == pytest.approx(host.service_us + host.switch_us)
    assert schedule.n_preemptions == 0


@given(st.integers(0, 2**31 - 1), st.booleans(), st.integers(1, 4), st.integers(1_000, 100_000))
@settings(max_examples=30, deadline=None)
def test_cpu_time_is_conserved_and_every_request_is_served(seed, preempt, n, burst_us):
    host = Host(preempt_boost=preempt, n_neighbours=n, burst_us=float(burst_us))
    schedule = simulate_credit_scheduler(host, gaps(seed, 500), seed)
    assert schedule.useful_us.sum() <= schedule.duration_us * (1 + 1e-9)
    assert schedule.useful_us[0] == pytest.approx(500 * host.service_us)
    assert (schedule.delays_us >= host.service_us - 1e-6).all()
    again = simulate_credit_scheduler(host, gaps(seed, 500), seed)
    assert again.delays_us.tolist() == schedule.delays_us.tolist()


def test_neighbours_that_never_sleep_share_the_core_equally():
    host = Host(n_neighbours=3, burst_us=1e12, refill_us=0.0)
    useful = simulate_credit_scheduler(host, gaps(3, 4_000), 3).useful_us[1:]
    assert useful.max() / useful.min() < 1.15


def test_the_core_is_never_idle_while_a_neighbour_has_work():
    host = Host(burst_us=1e12, refill_us=0.0, switch_us=0.0)
    schedule = simulate_credit_scheduler(host, gaps(5), 5)
    # But for the first burst, which begins at a random time within 30 ms.
    assert schedule.useful_us.sum() >= schedule.duration_us - 30_000


def test_without_a_neighbour_that_sleeps_boost_preempts_within_the_rate_limit():
    host = Host(burst_us=1e12)
    delays = simulate_credit_scheduler(host, gaps(7), 7).delays_us
    assert np.percentile(delays, 99) <= host.rate_limit_us + host.service_us + host.switch_us + 1


def test_the_slice_bounds_the_wait_by_default_and_the_rate_limit_with_preemption():
    tails = [
        np.percentile(
            simulate_credit_scheduler(
                Host(preempt_boost=preempt, burst_us=50_000.0, service_us=100.0), gaps(2, 20_000), 2
            ).delays_us,
            99.9,
        )
        for preempt in (False, True)
    ]
    assert 20_000 < tails[0] <= 31_000
    assert tails[1] <= 2_000


def test_a_packet_waits_for_at_most_the_nic_and_one_segment():
    times = np.sort(np.random.default_rng(1).uniform(0, 1e6, 3_000))
    queue = Queue()
    waits = simulate_managed_queue(queue, times, 1)
    most = (queue.limit_bytes + queue.segment_bytes) / queue.rate_bytes_per_us
    assert waits.min() > 0
    assert waits.max() <= most + 2 * 1.5 * queue.interrupt_us
    small = simulate_managed_queue(Queue(segment_bytes=1514.0), times, 1)
    assert small.max() <= queue.limit_bytes / queue.rate_bytes_per_us + 2 * 1.5 * 100 + 13
    assert np.median(small) < np.median(waits)


def test_a_faster_link_makes_waits_shorter_in_proportion():
    times = np.sort(np.random.default_rng(1).uniform(0, 1e6, 2_000))
    slow = simulate_managed_queue(Queue(interrupt_us=1.0), times, 1)
    fast = simulate_managed_queue(Queue(rate_bytes_per_us=1250.0, interrupt_us=1.0), times, 1)
    assert np.median(slow) / np.median(fast) == pytest.approx(10, rel=0.1)


def test_a_drop_tail_queue_is_a_sawtooth_below_its_size():
    times = np.arange(1, 5_000) * 10_000.0
    waits = simulate_drop_tail(125.0, 1_000, 214.0, times, 1)
    full = 1_000 * 1514 / 125.0
    assert waits.max() <= full * 1.001
    assert waits.min() >= 0.6 * full
