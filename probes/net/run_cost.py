"""What one run of a probe puts on the wire, in both directions, before it is made."""

from dataclasses import dataclass

# Octets of IP and transport headers with Ethernet's: 20 + 20 + 18, and 28 + 18 of a datagram.
TCP_HEADERS, UDP_HEADERS = 58, 46
# TCP options of a usual segment (timestamps), padded.
_TCP_OPTIONS = 12
_SEGMENT = 1_448


@dataclass(frozen=True, slots=True)
class RunCost:
    """Packets and octets of one run; ``requests`` are what vantage points limit."""

    requests: int
    packets: int
    octets: int


def ping_cost(count: int, octets: int) -> RunCost:
    """Return the cost of ``count`` requests and as many replies, of ``octets`` each."""
    return RunCost(count, 2 * count, 2 * count * octets)


def tcp_ping_cost(count: int) -> RunCost:
    """Return the cost of ``count`` handshakes: SYN, SYN/ACK, and what closes the connection."""
    return RunCost(count, 4 * count, 4 * count * (TCP_HEADERS + _TCP_OPTIONS))


def transfer_cost(octets: int, count: int = 1) -> RunCost:
    """Return the cost of ``count`` requests that transfer ``octets`` over TCP in all."""
    segments = -(-octets // _SEGMENT)
    # One acknowledgement for two segments, and some ten packets around them.
    packets = segments + segments // 2 + 10
    return RunCost(count, packets, octets + packets * (TCP_HEADERS + _TCP_OPTIONS))
