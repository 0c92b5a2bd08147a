"""Samples that a run keeps: round-trip times of packets, and backlogs of links over time."""

from typing import Any

import numpy as np

from core.jit import compile_inlined, compile_loop
from simulator.packets.arrays import backlog_of, links_of, queues_of, rtts_of, watched_of
from simulator.packets.layout import FIFO


@compile_inlined
def record_rtt(state: Any, flow: Any, rtt: Any) -> None:
    """Record one round-trip time in ``rtt_stride``, which doubles when memory is full."""
    if state.rtt_places == 0 or state.now < state.warm_up:
        return
    if state.rtt_seen % state.rtt_stride == 0:
        if state.rtt_samples == state.rtt_places:
            _thin_out(state)
        rtts_of(state)[state.rtt_samples, 0] = state.now
        rtts_of(state)[state.rtt_samples, 1] = flow
        rtts_of(state)[state.rtt_samples, 2] = rtt
        state.rtt_samples += 1
    state.rtt_seen += 1


@compile_loop
def _thin_out(state: Any) -> None:
    """Drop every second sample."""
    half = state.rtt_samples // 2
    for row in range(half):
        for column in range(3):
            rtts_of(state)[row, column] = rtts_of(state)[2 * row, column]
    state.rtt_samples = half
    state.rtt_stride *= 2


@compile_loop
def record_backlogs(state: Any) -> None:
    """Record the bytes that wait at the watched links, at the time of the sample."""
    for column in range(state.n_watched):
        number = np.int64(watched_of(state)[column])
        link = links_of(state)[number]
        backlog = max(link.busy_until - state.next_sample, 0) // link.ps_per_byte
        if link.policy != FIFO:
            for priority in range(state.priorities):
                backlog += queues_of(state)[number, priority].bytes
        backlog_of(state)[state.samples, column] = backlog
    state.samples += 1
    state.next_sample += state.sample_period
