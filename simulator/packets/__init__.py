"""Packet-level simulation of data-centre networks: ports, forwarding, transport, traffic.

Takes a network, flows and settings, gives completion times, bytes, marks, drops, round-trip times
and backlogs. May import ``core``. Example::

    flows = permutation(128, size_bytes=1_000_000, seed=1)
    ports = PortSettings(mark_above_bytes=97_500)
    simulate_network(fat_tree(8), flows, Transport("dctcp"), ports, Run(seed=1)).completion_s

All loops are compiled (``core.jit``) and work on the arrays of ``layout``.
"""
