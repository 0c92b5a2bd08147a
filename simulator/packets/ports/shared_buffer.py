"""A buffer that the ports of a switch share, with the dynamic threshold of Choudhury and Hahne.

A port may hold ``alpha`` times what is free; n congested ports hold alpha B / (1 + n alpha) each.
The packet in transmission is not counted.
"""

from typing import Any

from core.jit import compile_inlined
from simulator.packets.arrays import backlogged_of, links_of, queues_of, switches_of
from simulator.packets.layout import NONE


@compile_inlined
def exceeds_buffer(state: Any, number: Any, size: Any) -> Any:
    """Return whether a packet is above the threshold of its port."""
    link = links_of(state)[number]
    switch = switches_of(state)[link.switch]
    held = 0
    for priority in range(state.priorities):
        held += queues_of(state)[number, priority].bytes
    free = switch.size - switch.used
    # A port that holds nothing transmits at once: there is always a place for that packet.
    return held > 0 and held + size > min(switch.alpha * free, held + free)


@compile_inlined
def add_to_buffer(state: Any, number: Any, size: Any) -> None:
    """Count an accepted packet, and its port among the backlogged ones."""
    link = links_of(state)[number]
    switch = switches_of(state)[link.switch]
    switch.used += size
    if link.position == NONE:
        link.position = switch.backlogged
        backlogged_of(state)[link.switch, switch.backlogged] = number
        switch.backlogged += 1


@compile_inlined
def remove_from_buffer(state: Any, number: Any, size: Any) -> None:
    """Count a packet that leaves; a port without packets is no longer backlogged."""
    link = links_of(state)[number]
    switch = switches_of(state)[link.switch]
    switch.used -= size
    if link.queued == 0:
        switch.backlogged -= 1
        last = backlogged_of(state)[link.switch, switch.backlogged]
        backlogged_of(state)[link.switch, link.position] = last
        links_of(state)[last].position = link.position
        link.position = NONE
