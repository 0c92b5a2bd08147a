"""Memory layout of a simulation: one record array per kind of object, and the constants in them.

Times are whole picoseconds. Packets, flows in progress and ports are indices; nothing is allocated
while the compiled loops run.
"""

import numpy as np

PS_PER_S = 10**12
# Links of the longest route, and one more for the mark of its end.
ROUTE_LENGTH = 8
NONE = -1
NEVER = 2**62

# Directions of a flow; not literals, for each of which a loop would be compiled again.
DATA, REPLY = np.int64(0), np.int64(1)
IDLE = np.int64(0)
# How a port serves packets.
FIFO, SCHEDULED = 0, 1
# Kinds of networks, by which routes are computed.
THREE_LEVEL, TWO_LEVEL, EXPLICIT = 0, 1, 2
# Choices of paths.
ECMP, SPRAY, FLOWLET, FLOWCELL = 0, 1, 2, 3
# Congestion control.
OPEN_LOOP, NEWRENO, CUBIC, DCTCP, FIXED_WINDOW, OLIA = 0, 1, 2, 3, 4, 5
# Loss recovery.
RENO_RECOVERY, NEWRENO_RECOVERY, SACK_RECOVERY = 0, 1, 2
# States of a sender.
OPEN, RECOVERY, LOSS = 0, 1, 2
# Why the loop returned.
FINISHED, PAUSED, NO_FLOW_SLOTS, NO_PACKET_SLOTS, NO_TIMER_SLOTS = 0, 1, 2, 3, 4
# Sources of priorities: that of the flow, or a token bucket per pair of hosts.
BY_FLOW, BY_TOKEN_BUCKET = 0, 1

LINK = np.dtype(
    [
        ("busy_until", "i8"),  # when the last accepted packet has left the transmitter
        ("ps_per_byte", "i8"),
        ("delay", "i8"),
        ("mark_above", "i8"),  # waiting time in ps above which packets are marked
        ("drop_above", "i8"),  # waiting time in ps, that of the packet included, above which
        ("wait", "i8"),  # sum of the times from acceptance to the start of transmission
        ("accepted", "i8"),
        ("delivered", "i8"),
        ("bytes", "i8"),
        ("dropped", "i8"),  # on arrival
        ("discarded", "i8"),  # by CoDel, at the head of the queue
        ("marked", "i8"),
        ("queued", "i8"),  # packets in the queues of a scheduled port
        ("head", "i8"),  # packets being transmitted or propagated, in order of arrival
        ("tail", "i8"),
        ("policy", "i8"),
        ("switch", "i8"),  # shared buffer, or NONE
        ("position", "i8"),  # place among the backlogged ports of the switch, or NONE
        ("drop_unmarkable", "i8"),  # drop what cannot be marked where others are marked
    ],
    align=True,
)
QUEUE = np.dtype(
    [
        ("bytes", "i8"),
        ("head", "i8"),
        ("tail", "i8"),
        # State of CoDel.
        ("above_since", "i8"),
        ("next_drop", "i8"),
        ("count", "i8"),
        ("last_count", "i8"),
        ("dropping", "i8"),
    ],
    align=True,
)
SWITCH = np.dtype(
    [("size", "f8"), ("used", "f8"), ("alpha", "f8"), ("first", "i8"), ("backlogged", "i8")],
    align=True,
)
PACKET = np.dtype(
    [
        ("time", "i8"),  # arrival at the far end; while it is queued, when it was accepted
        ("sent", "i8"),  # when the sender sent it, which its acknowledgement returns
        ("next", "i4"),
        ("flow", "i4"),
        ("number", "i4"),  # of the packet in its flow
        ("cumulative", "i4"),  # of an acknowledgement: all packets below were received
        ("size", "i4"),
        ("hop", "i4"),
        ("cell", "i4"),  # number of the flowlet or flowcell
        ("acknowledges", "i1"),
        ("markable", "i1"),
        ("marked", "i1"),
        ("echo", "i1"),  # the acknowledged packet was marked
        ("priority", "i1"),
    ],
    align=True,
)
FLOW = np.dtype(
    [
        ("id", "i8"),
        ("source", "i8"),
        ("destination", "i8"),
        ("transport", "i8"),
        ("priority", "i8"),
        ("n_packets", "i8"),
        ("last_bytes", "i8"),
        ("in_network", "i8"),
        ("free", "i8"),  # the next free slot
        # The sender: packets below ``una`` are acknowledged, those from ``next`` never sent; those
        # below ``scan`` that are not acknowledged are lost, and below ``resend`` sent again.
        ("una", "i8"),
        ("next", "i8"),
        ("scan", "i8"),
        ("resend", "i8"),
        ("lost", "i8"),  # lost and not sent again
        ("sacked", "i8"),  # received above ``una``
        ("highest", "i8"),  # one above the highest packet that was received
        ("recover", "i8"),
        ("state", "i8"),
        ("backoff", "i8"),
        # Proportional rate reduction (RFC 6937).
        ("flight_at_loss", "i8"),
        ("recovery_since", "i8"),
        ("resent_before", "i8"),
        ("window_before", "f8"),
        ("threshold_before", "f8"),
        ("delivered", "i8"),  # since recovery began, and by the last acknowledgement
        ("delivered_last", "i8"),
        ("sent_since", "i8"),
        ("window", "f8"),
        ("threshold", "f8"),
        ("smoothed", "f8"),
        ("variation", "f8"),
        ("paced_at", "i8"),  # last transmission with a window below one packet
        ("waits", "i8"),  # the deadline is not a timeout, but when to send again
        ("probes", "i8"),  # the deadline is that of a tail loss probe
        ("deadline", "i8"),
        ("timer", "i8"),  # time of the valid entry in the heap of timers
        # Congestion signals of the current window (DCTCP, RFC 8257) and the end of the last cut.
        ("alpha", "f8"),
        ("window_end", "i8"),
        ("acknowledged", "i8"),
        ("echoed", "i8"),
        ("cut_end", "i8"),
        # CUBIC (RFC 9438).
        ("plateau", "f8"),
        ("window_at_cut", "f8"),  # before the last one
        ("epoch", "i8"),
        ("inflection", "f8"),
        ("origin", "f8"),
        ("friendly", "f8"),
        # OLIA: packets acknowledged since the last loss, and between the last two.
        ("since_loss", "i8"),
        ("between_losses", "i8"),
        ("session", "i8"),
        ("sibling", "i8"),  # slot of the next subflow of the connection, in a ring
        # A window kept outside of the sender, at the edge of the network.
        ("edge_window", "f8"),
        ("edge_threshold", "f8"),
        # Paths.
        ("last_sent", "i8"),
        ("cell_bytes", "i8"),
        ("cell", "i8"),
        ("transmissions", "i8"),
        ("replies", "i8"),
        # The receiver.
        ("received", "i8"),  # all packets below
        ("early", "i8"),  # packets above, received before one below them
        # Packets that a receiver with resequencing holds, which are not yet acknowledged.
        ("held_first", "i8"),
        ("held_last", "i8"),
        ("in_order_cell", "i8"),
        ("gap_since", "i8"),
        ("waits_since", "i8"),
        ("releases", "i8"),  # the held packets are to be acknowledged
        ("gap_mean", "f8"),
    ],
    align=True,
)
TRANSPORT = np.dtype(
    [
        ("congestion_control", "i8"),
        ("recovery", "i8"),
        ("markable", "i8"),
        ("edge", "i8"),
        ("resequences", "i8"),
        ("undoes", "i8"),
        ("tail_probe", "i8"),  # least time to a tail loss probe, or 0
        ("initial_gap", "i8"),
        ("small_queue", "i8"),  # bytes in the queue of the host above which nothing is added, or 0
        ("initial_window", "f8"),
        ("max_window", "f8"),
        ("minimum_window", "f8"),
        ("initial_threshold", "f8"),
        ("duplicates", "i8"),
        ("gain", "f8"),
        ("initial_alpha", "f8"),
        ("minimum_timeout", "i8"),
        ("initial_timeout", "i8"),
        ("maximum_timeout", "i8"),
    ],
    align=True,
)
DEMAND = np.dtype(
    [
        ("start", "i8"),
        ("size", "i8"),
        ("source", "i8"),
        ("destination", "i8"),
        ("transport", "i8"),
        ("priority", "i8"),
        ("connection", "i8"),  # number of the connection that it is a subflow of, or NONE
        ("session", "i8"),  # number of the session, or NONE
    ],
    align=True,
)
# What the next flow of a session begins with; fields as in FLOW.
SESSION = np.dtype(
    [
        ("flows", "i8"),  # that have ended
        ("window", "f8"),
        ("threshold", "f8"),
        ("smoothed", "f8"),
        ("variation", "f8"),
        ("plateau", "f8"),
        ("window_at_cut", "f8"),
        ("epoch", "i8"),
        ("inflection", "f8"),
        ("origin", "f8"),
        ("friendly", "f8"),
    ],
    align=True,
)
OUTCOME = np.dtype(
    [
        ("finish", "i8"),
        ("acknowledged", "i8"),
        ("bytes", "i8"),  # received once, after the warm-up
        ("sent", "i8"),
        ("resent", "i8"),
        ("marked", "i8"),
        ("dropped", "i8"),
        ("timeouts", "i8"),
        ("reordered", "i8"),
    ],
    align=True,
)
BUCKET = np.dtype([("tokens", "f8"), ("updated", "i8"), ("low_until", "i8")], align=True)
# The scalars of a simulation, and the addresses and sizes of its arrays (``Arrays``).
STATE = np.dtype(
    [
        ("links", "i8"),
        ("queues", "i8"),
        ("switches", "i8"),
        ("backlogged", "i8"),
        ("packets", "i8"),
        ("routes", "i8"),
        ("flows", "i8"),
        ("flow_routes", "i8"),
        ("transports", "i8"),
        ("demand", "i8"),
        ("outcome", "i8"),
        ("sessions", "i8"),
        ("links_heap", "i8"),
        ("timers_heap", "i8"),
        ("buckets", "i8"),
        ("path_first", "i8"),
        ("path_choices", "i8"),
        ("explicit", "i8"),
        ("losses", "i8"),
        ("rtts", "i8"),
        ("watched", "i8"),
        ("backlog", "i8"),
        ("sacks", "i8"),
        ("arrivals", "i8"),
        ("now", "i8"),
        ("n_flows", "i8"),
        ("n_losses", "i8"),
        ("n_watched", "i8"),
        ("rtt_places", "i8"),
        ("timer_places", "i8"),
        ("most_ports", "i8"),
        ("window", "i8"),
        ("end", "i8"),
        ("warm_up", "i8"),
        ("seed", "u8"),
        ("events", "i8"),
        ("traversals", "i8"),
        ("lost_copies", "i8"),
        ("busy_links", "i8"),
        ("link_bits", "i8"),
        ("timer_bits", "i8"),
        ("timer_tick", "i8"),
        ("timers", "i8"),
        ("free_packet", "i8"),
        ("free_packets", "i8"),
        ("free_flow", "i8"),
        ("free_flows", "i8"),
        ("active", "i8"),
        ("next_flow", "i8"),
        ("last_slot", "i8"),  # of the flow that was started last
        ("most_packets", "i8"),
        ("most_active", "i8"),
        # Network.
        ("kind", "i8"),
        ("hosts_per_edge", "i8"),
        ("edges", "i8"),
        ("edges_per_pod", "i8"),
        ("uplinks", "i8"),
        ("cores", "i8"),
        ("hosts", "i8"),
        ("choices", "i8"),  # whether paths are restricted or weighted
        # Transport.
        ("segment", "i8"),
        ("header", "i8"),
        ("reply", "i8"),
        # Paths.
        ("paths", "i8"),
        ("flowlet_gap", "i8"),
        ("cell_size", "i8"),
        # Priorities.
        ("tagging", "i8"),
        ("priorities", "i8"),
        ("bucket_rate", "f8"),  # bytes per ps
        ("bucket_burst", "f8"),
        ("recheck", "i8"),
        # CoDel.
        ("codel", "i8"),
        ("codel_marks", "i8"),
        ("codel_target", "i8"),
        ("codel_interval", "i8"),
        # Samples.
        ("sample_period", "i8"),
        ("next_sample", "i8"),
        ("samples", "i8"),
        ("rtt_samples", "i8"),
        ("rtt_stride", "i8"),
        ("rtt_seen", "i8"),
    ],
    align=True,
)
