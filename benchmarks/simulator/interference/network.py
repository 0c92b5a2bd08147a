"""A game server and a streaming server beside bulk transfers, on a link shaped by the kernel.

Two network namespaces, joined by a veth pair; what the server's side sends is limited to the rate
of the link, alone (``tbf``), or by classes of ``htb``: *dedicated* ones that may not borrow, or
*shared* ones that may. Needs root.
"""

import contextlib
import random
import select
import socket
import statistics
import struct
import threading
import time
from collections.abc import Callable, Iterator

from testbed.namespaces import netns

SERVER, CLIENT = "10.91.0.1", "10.91.0.2"
GAME_PORT, STREAM_PORT, BULK_PORT = 27_666, 5_554, 5_001
# Setups in the order of the paper's table.
SETUPS = ("idle", "unshaped", "dedicated", "shared")
N_BULK = 40
QUEUE_PACKETS = 1000
# The state of the game that the server sends: 100 bytes 60 times a second.
STATE_BYTES, STATE_GAP_S = 100, 1 / 60
PING_WAIT_S = 0.5
STREAM_BPS, STREAM_BYTES = 1e6, 1_316


def write_shaping(setup: str, kbps: int, device: str) -> list[str]:
    """Commands of tc: without classes for idle and unshaped, two halves of the rate otherwise."""
    if setup in ("idle", "unshaped"):
        limit = QUEUE_PACKETS * 1514
        return [f"qdisc add dev {device} root tbf rate {kbps}kbit burst 3000 limit {limit}"]
    ceil = kbps if setup == "shared" else kbps // 2
    lines = [
        f"qdisc add dev {device} root handle 1: htb default 20",
        f"class add dev {device} parent 1: classid 1:1 htb rate {kbps}kbit ceil {kbps}kbit",
    ]
    for number in (10, 20):
        lines += [
            f"class add dev {device} parent 1:1 classid 1:{number} htb rate {kbps // 2}kbit "
            f"ceil {ceil}kbit quantum 1514",
            f"qdisc add dev {device} parent 1:{number} pfifo limit {QUEUE_PACKETS}",
        ]
    for port in (GAME_PORT, STREAM_PORT):
        lines.append(
            f"filter add dev {device} protocol ip parent 1: prio 1 u32 "
            f"match ip sport {port} 0xffff flowid 1:10"
        )
    return lines


@contextlib.contextmanager
def open_link(setup: str, kbps: int) -> Iterator[tuple[str, str]]:
    """Namespaces of the server and the client; raises ``OSError`` where they cannot be made."""
    prefix = netns.new_prefix()
    names = (f"{prefix}server", f"{prefix}client")
    made: list[str] = []
    try:
        for name in names:
            netns.add(name)
            made.append(name)
        netns.batch(
            names[0],
            [
                f"link add v0 gso_max_segs 1 type veth peer name v1 netns {names[1]}",
                f"addr add {SERVER}/24 dev v0",
                "link set v0 up",
                "link set lo up",
            ],
        )
        netns.batch(names[1], [f"addr add {CLIENT}/24 dev v1", "link set v1 up"])
        netns.batch(names[0], write_shaping(setup, kbps, "v0"), tool=("tc",))
        yield names
    finally:
        netns.remove(made)


@contextlib.contextmanager
def _threads(*works: Callable[[threading.Event], None]) -> Iterator[None]:
    """Threads that run until the context ends."""
    stop = threading.Event()
    threads = [threading.Thread(target=work, args=(stop,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _bind(name: str, address: tuple[str, int], kind: int) -> socket.socket:
    def create() -> socket.socket:
        made = socket.socket(socket.AF_INET, kind)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.settimeout(0.05)
        return made

    return netns.run_inside(name, create)


@contextlib.contextmanager
def run_bulk(server: str, client: str) -> Iterator[None]:
    """Many TCP connections from the server's host, each with data to send at all times."""
    with contextlib.ExitStack() as stack:
        sink = stack.enter_context(_bind(client, (CLIENT, BULK_PORT), socket.SOCK_STREAM))
        sink.listen(N_BULK)
        senders, receivers = [], []
        for _ in range(N_BULK):
            sender = stack.enter_context(_bind(server, (SERVER, 0), socket.SOCK_STREAM))
            sender.settimeout(10)
            sender.connect((CLIENT, BULK_PORT))
            sender.setblocking(False)
            sink.settimeout(10)
            receiver, _ = sink.accept()
            receiver.setblocking(False)
            senders.append(sender)
            receivers.append(stack.enter_context(receiver))

        def transfer(stop: threading.Event) -> None:
            block = bytes(65_536)
            while not stop.is_set():
                readable, writable, _ = select.select(receivers, senders, [], 0.05)
                for one in readable:
                    one.recv(65_536)
                for one in writable:
                    with contextlib.suppress(BlockingIOError):
                        one.send(block)
                time.sleep(0.002)

        stack.enter_context(_threads(transfer))
        # The queue of the link fills.
        time.sleep(2.0)
        yield


@contextlib.contextmanager
def play_game(setup: str, kbps: int) -> Iterator[socket.socket]:
    """A game server that answers pings and sends its state; yields the socket of the player."""
    with contextlib.ExitStack() as stack:
        server, client = stack.enter_context(open_link(setup, kbps))
        game = stack.enter_context(_bind(server, (SERVER, GAME_PORT), socket.SOCK_DGRAM))
        game.setblocking(False)
        player = stack.enter_context(_bind(client, (CLIENT, GAME_PORT), socket.SOCK_DGRAM))

        def serve(stop: threading.Event) -> None:
            due = time.monotonic()
            while not stop.is_set():
                due += STATE_GAP_S
                _send(game, bytes(STATE_BYTES), (CLIENT, GAME_PORT + 1))
                while (left := due - time.monotonic()) > 0:
                    if select.select([game], [], [], left)[0]:
                        data, address = game.recvfrom(2048)
                        _send(game, data, address)

        # The state of the game goes to a socket of its own, which is not read.
        stack.enter_context(_bind(client, (CLIENT, GAME_PORT + 1), socket.SOCK_DGRAM))
        stack.enter_context(_threads(serve))
        if setup != "idle":
            stack.enter_context(run_bulk(server, client))
        yield player


def measure_game(setup: str, kbps: int, pings: int, gap_s: float) -> dict[str, float]:
    """Mean and deviation of answers in ms, and the share of timeouts in per cent."""
    with play_game(setup, kbps) as player:
        times_ms = [_ping(player, number, gap_s) for number in range(pings)]
    answered = [value for value in times_ms if value is not None]
    return {
        "mean_ms": statistics.fmean(answered) if answered else float("nan"),
        "deviation_ms": statistics.pstdev(answered) if answered else float("nan"),
        "timeouts": 100 * (1 - len(answered) / pings),
    }


def measure_differences(kbps: int, pings: int, gap_s: float, seed: int) -> list[float]:
    """Differences of pings in ms, shared less dedicated halves, of pairs sent one after the other.

    Both links are up at the same time, and the first of a pair is drawn: other work on the machine
    has the same effect on both.
    """
    draw = random.Random(seed)
    found: list[float] = []
    with play_game("dedicated", kbps) as dedicated, play_game("shared", kbps) as shared:
        for number in range(pings):
            players = [("dedicated", dedicated), ("shared", shared)]
            draw.shuffle(players)
            times = {name: _ping(player, number, gap_s) for name, player in players}
            if times["shared"] is not None and times["dedicated"] is not None:
                found.append(times["shared"] - times["dedicated"])
    return found


def _send(sender: socket.socket, data: bytes, address: tuple[str, int]) -> None:
    """Send or lose, by a socket that does not block: what does not fit into the queue is lost."""
    with contextlib.suppress(BlockingIOError):
        sender.sendto(data, address)


def _ping(player: socket.socket, number: int, gap_s: float) -> float | None:
    began = time.monotonic()
    player.sendto(struct.pack("!I", number) + bytes(60), (SERVER, GAME_PORT))
    found = None
    while found is None and (left := began + PING_WAIT_S - time.monotonic()) > 0:
        if select.select([player], [], [], left)[0]:
            (answered,) = struct.unpack("!I", player.recv(2048)[:4])
            found = 1e3 * (time.monotonic() - began) if answered == number else None
    time.sleep(max(0.0, began + gap_s - time.monotonic()))
    return found


def measure_streams(setup: str, kbps: int, streams: int, seconds: float) -> dict[str, float]:
    """Rate of all streams in Mb/s, and the jitter of the first in ms (RFC 3550, 6.4.1)."""
    arrivals: list[list[tuple[float, float]]] = [[] for _ in range(streams)]
    gap_s = 8 * STREAM_BYTES / STREAM_BPS
    with contextlib.ExitStack() as stack:
        server, client = stack.enter_context(open_link(setup, kbps))
        source = stack.enter_context(_bind(server, (SERVER, STREAM_PORT), socket.SOCK_DGRAM))
        source.setblocking(False)
        target = stack.enter_context(_bind(client, (CLIENT, STREAM_PORT), socket.SOCK_DGRAM))
        target.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
        if setup != "idle":
            stack.enter_context(run_bulk(server, client))

        def receive(stop: threading.Event) -> None:
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    stream, sent = struct.unpack("!Id", target.recv(2048)[:12])
                    arrivals[stream].append((sent, time.monotonic()))

        def send(stop: threading.Event) -> None:
            due = time.monotonic()
            while not stop.is_set():
                for stream in range(streams):
                    head = struct.pack("!Id", stream, time.monotonic())
                    _send(source, head + bytes(STREAM_BYTES - 12), (CLIENT, STREAM_PORT))
                due += gap_s
                time.sleep(max(0.0, due - time.monotonic()))

        with _threads(receive, send):
            time.sleep(1.0)
            before = sum(map(len, arrivals))
            time.sleep(seconds)
            received = sum(map(len, arrivals)) - before
    return {
        "rate_mbps": 8e-6 * STREAM_BYTES * received / seconds,
        "jitter_ms": 1e3 * find_jitter(arrivals[0]),
    }


def find_jitter(packets: list[tuple[float, float]]) -> float:
    """The jitter of RFC 3550 after all packets of (sent, received), in their unit."""
    jitter = 0.0
    for (sent, got), (next_sent, next_got) in zip(packets, packets[1:], strict=False):
        jitter += (abs((next_got - got) - (next_sent - sent)) - jitter) / 16
    return jitter
