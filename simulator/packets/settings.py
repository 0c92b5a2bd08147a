"""Settings of a simulation: transport, ports, forwarding, and what a run records.

Each checks its values and raises ``BadInput`` that names the field and its range.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from core.errors import BadInput
from simulator.packets import layout

CONGESTION_CONTROLS = {
    "open-loop": layout.OPEN_LOOP,
    "newreno": layout.NEWRENO,
    "cubic": layout.CUBIC,
    "dctcp": layout.DCTCP,
    "fixed-window": layout.FIXED_WINDOW,
    "olia": layout.OLIA,
}
RECOVERIES = {
    "reno": layout.RENO_RECOVERY,
    "newreno": layout.NEWRENO_RECOVERY,
    "sack": layout.SACK_RECOVERY,
}
PATHS = {
    "ecmp": layout.ECMP,
    "spray": layout.SPRAY,
    "flowlet": layout.FLOWLET,
    "flowcell": layout.FLOWCELL,
}
LARGEST_WINDOW = 1 << 14


def check_choice(field_name: str, value: str, choices: dict[str, int]) -> int:
    """Return the number of a choice; raises ``BadInput`` that names all of them."""
    if value not in choices:
        raise BadInput(f"{value!r} is not one of {', '.join(choices)}", field=field_name)
    return choices[value]


def check_range(settings: Any, field_name: str, low: float, high: float) -> None:
    """Raise ``BadInput`` unless a field is a number from ``low`` to ``high``."""
    value = getattr(settings, field_name)
    if not isinstance(value, int | float) or not low <= value <= high:
        text = f"{value!r} is not a number from {low:g} to {high:g}"
        raise BadInput(text, field=field_name)


@dataclass(frozen=True, slots=True)
class Transport:
    """How a flow is sent: windows are in packets, times in seconds.

    ``open-loop`` sends all packets of a flow at once, without acknowledgements; ``fixed-window``
    keeps its initial window; ``olia`` links the windows of the subflows of a connection
    (``traffic.split_subflows``). ``edge_window`` adds a window that is computed by DCTCP outside of
    the sender; the sender then does not see marks. ``resequencing`` is Presto's receive offload:
    packets of a later flowcell are held until those before them arrive, or for twice the mean gap,
    which starts at ``reordering_gap_s``; a loss within a flowcell shows at once. A window below one
    packet sends single packets, with a pause of the round-trip time divided by the window. Nothing
    is sent while more than ``small_queue_bytes`` wait in the queue of the host (TCP small queues).
    After ``tail_probe_s``, or two round trips if they are longer, without an acknowledgement a new
    packet is sent, or the last one again, once before a timeout (RFC 8985, 7.3). ``undo_late``
    restores the window when packets were not lost but late (RFC 4015); it needs SACK.
    """

    congestion_control: str = "dctcp"
    recovery: str = "sack"
    ecn: bool | None = None
    edge_window: bool = False
    resequencing: bool = False
    reordering_gap_s: float = 100e-6
    small_queue_bytes: int | None = None
    tail_probe_s: float | None = None
    undo_late: bool = False
    initial_window: float = 10
    max_window: int = 256
    minimum_window: float = 2
    initial_threshold: float = math.inf
    duplicate_threshold: int = 3
    gain: float = 1 / 16
    initial_alpha: float = 1
    minimum_timeout_s: float = 0.01
    initial_timeout_s: float = 0.01
    maximum_timeout_s: float = 60

    def __post_init__(self) -> None:
        check_choice("congestion_control", self.congestion_control, CONGESTION_CONTROLS)
        check_choice("recovery", self.recovery, RECOVERIES)
        check_range(self, "max_window", 2, LARGEST_WINDOW)
        check_range(self, "initial_window", 1, self.max_window)
        check_range(self, "minimum_window", 0.01, self.max_window)
        check_range(self, "initial_threshold", 1, math.inf)
        check_range(self, "duplicate_threshold", 1, LARGEST_WINDOW)
        check_range(self, "reordering_gap_s", 0, 10)
        if self.tail_probe_s is not None:
            check_range(self, "tail_probe_s", 1e-9, self.maximum_timeout_s)
        if self.small_queue_bytes is not None:
            check_range(self, "small_queue_bytes", 1, 1e9)
        if self.undo_late and self.recovery != "sack":
            raise BadInput("undo_late needs the recovery sack", field="undo_late")
        check_range(self, "gain", 1e-6, 1)
        check_range(self, "initial_alpha", 0, 1)
        check_range(self, "minimum_timeout_s", 1e-9, self.maximum_timeout_s)
        check_range(self, "initial_timeout_s", self.minimum_timeout_s, self.maximum_timeout_s)
        check_range(self, "maximum_timeout_s", 1e-9, 1000)

    @property
    def markable(self) -> bool:
        """Whether packets can be marked instead of dropped."""
        if self.ecn is None:
            return self.congestion_control == "dctcp" or self.edge_window
        return self.ecn or self.edge_window


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """Tags the packets of a pair of hosts for the upper priority while they conform.

    A pair that does not is checked again after ``recheck_s`` (He et al., Small is Better, 5).
    """

    rate_bps: float = 10e6
    burst_bytes: int = 30_000
    recheck_s: float = 0.1

    def __post_init__(self) -> None:
        check_range(self, "rate_bps", 1e3, 1e13)
        check_range(self, "burst_bytes", 64, 1e9)
        check_range(self, "recheck_s", 0, 1000)


@dataclass(frozen=True, slots=True)
class Codel:
    """CoDel at the ports of switches; ``marks`` marks packets that can be marked."""

    target_s: float = 0.005
    interval_s: float = 0.1
    marks: bool = False

    def __post_init__(self) -> None:
        check_range(self, "target_s", 1e-9, 10)
        check_range(self, "interval_s", 1e-9, 100)


@dataclass(frozen=True, slots=True)
class PortSettings:
    """Output ports of switches, and the limit of the queues of hosts; ``None`` is no limit.

    A packet is marked when more than ``mark_above_bytes`` wait before it; with
    ``drop_without_ecn`` one that cannot be marked is dropped there. With priorities each queue has
    the limit ``queue_bytes``. ``shared_buffer_bytes`` is the buffer of each switch, of which a port
    may hold ``shared_alpha`` times what is free.
    """

    queue_bytes: int | None = 150_000
    host_queue_bytes: int | None = None
    mark_above_bytes: int | None = None
    drop_without_ecn: bool = False
    priorities: int = 1
    host_priorities: bool = False
    tagging: TokenBucket | None = None
    shared_buffer_bytes: int | None = None
    shared_alpha: float = 1.0
    codel: Codel | None = None

    def __post_init__(self) -> None:
        for name in ("queue_bytes", "host_queue_bytes", "mark_above_bytes", "shared_buffer_bytes"):
            if getattr(self, name) is not None:
                check_range(self, name, 0, 1e12)
        check_range(self, "priorities", 1, 2)
        check_range(self, "shared_alpha", 1e-3, 1e3)
        if self.tagging is not None and self.priorities == 1:
            raise BadInput("tagging needs two priorities", field="priorities")

    @property
    def is_scheduled(self) -> bool:
        """Whether packets may leave in another order, or be refused later, than they came."""
        return self.priorities > 1 or self.codel is not None or self.shared_buffer_bytes is not None


@dataclass(frozen=True, slots=True)
class Forwarding:
    """The choice among paths: per flow, packet, pause of a flow, or cell of its bytes."""

    paths: str = "ecmp"
    flowlet_gap_s: float = 100e-6
    flowcell_bytes: int = 65_536

    def __post_init__(self) -> None:
        check_choice("paths", self.paths, PATHS)
        check_range(self, "flowlet_gap_s", 0, 10)
        check_range(self, "flowcell_bytes", 64, 1e9)


@dataclass(frozen=True, slots=True)
class Run:
    """Seed, length and records of a run; without a duration it ends with the last flow.

    Bytes are counted from ``warm_up_s``. ``losses`` are (flow, packet) of which one transmission
    each is lost. At most ``rtt_samples`` round-trip times are kept, evenly thinned out.
    """

    seed: int = 1
    duration_s: float | None = None
    warm_up_s: float = 0.0
    forwarding: Forwarding = field(default_factory=Forwarding)
    segment_bytes: int = 1460
    header_bytes: int = 40
    reply_bytes: int = 40
    rtt_samples: int = 0
    watched_links: tuple[int, ...] = ()
    sample_period_s: float = 0.0
    losses: tuple[tuple[int, int], ...] = ()
    timer_tick_s: float = 1e-5

    def __post_init__(self) -> None:
        check_range(self, "seed", 0, 2**63 - 1)
        if self.duration_s is not None:
            check_range(self, "duration_s", 1e-9, 10_000)
        check_range(self, "warm_up_s", 0, 10_000 if self.duration_s is None else self.duration_s)
        check_range(self, "segment_bytes", 1, 1_000_000)
        check_range(self, "header_bytes", 0, 1_000)
        check_range(self, "reply_bytes", 1, 9_000)
        check_range(self, "rtt_samples", 0, 10_000_000)
        check_range(self, "timer_tick_s", 1e-9, 1)
        if self.watched_links:
            check_range(self, "sample_period_s", 1e-9, 1000)
            if self.duration_s is None:
                raise BadInput("samples of links need a duration", field="duration_s")
