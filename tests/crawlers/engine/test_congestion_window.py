"""How many questions may be in flight, and how the engine notices that it is too slow."""

import socket

from crawlers.engine.nameservers import Server
from crawlers.engine.retransmit_timer import CongestionWindow, ReceiveWindow, RoundTripEstimator
from crawlers.engine.sockets import Peer, Sockets


def test_room_shrinks_with_each_overflow_and_grows_back():
    room = ReceiveWindow(10_000)
    for now, overflows in enumerate((5, 9, 9, 9)):
        assert room.is_due(now)
        room.adapt(now, overflows)
    assert 4_900 < room.size < 5_300
    for now in range(4, 60):
        room.adapt(now, 9)
    assert room.size == 10_000


def test_room_never_falls_to_nothing():
    small, large = ReceiveWindow(100), ReceiveWindow(10_000)
    for overflows in range(1, 100):
        small.adapt(0, overflows)
        large.adapt(0, overflows)
    assert (small.size, large.size) == (100, 256)


def test_packets_that_found_no_room_are_counted():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        where = Server("127.0.0.1", server.getsockname()[1])
        sockets = Sockets(1, 100)
        try:
            peer = Peer(where, RoundTripEstimator(1, 1), None, CongestionWindow(100))
            sockets.connect(peer)
            peer.channels[0].send(b"hello")
            _, client = server.recvfrom(100)
            assert sockets.count_overflows() == 0
            for _ in range(60_000):
                server.sendto(b"x" * 1_000, client)
            assert sockets.count_overflows() > 0
        finally:
            sockets.close()


def grow(size):
    window = CongestionWindow(30_000)
    window.note_answers(size)
    return window


def test_few_lost_queries_of_many_that_time_out_together_are_no_congestion():
    window = grow(4_000)
    for now in range(1, 100):
        window.note_answers(3_920)
        for _ in range(80):
            window.note_missing(sent_at=now - 0.2, now=now, in_flight=4_000)
    assert window.size == 30_000


def test_a_large_window_is_halved_within_one_round_trip_where_a_third_is_lost():
    window = grow(4_000)
    size = window.size
    window.note_answers(2_700)
    for _ in range(1_300):
        window.note_missing(sent_at=0.5, now=1, in_flight=2_700)
    assert window.size < size
    assert window.reduced_at == 1
