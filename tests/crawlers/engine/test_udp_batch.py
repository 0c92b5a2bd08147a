"""Datagrams in one call to the kernel are the same datagrams as one by one."""

import contextlib
import random
import socket
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlers.engine.udp_batch import BATCH, LONGEST_REPLY, BatchSockets, OneByOne, open_datagrams
from tests.examples import examples

WAYS = [
    pytest.param(BatchSockets, marks=pytest.mark.skipif(sys.platform != "linux", reason="Linux's")),
    OneByOne,
]
PACKET = st.binary(max_size=512)


@contextlib.contextmanager
def connected(family=socket.AF_INET):
    """Two sockets that speak to each other alone."""
    address = "::1" if family == socket.AF_INET6 else "127.0.0.1"
    with (
        socket.socket(family, socket.SOCK_DGRAM) as left,
        socket.socket(family, socket.SOCK_DGRAM) as right,
    ):
        for sock in (left, right):
            sock.bind((address, 0))
            sock.setblocking(False)
        left.connect(right.getsockname())
        right.connect(left.getsockname())
        yield left, right


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
@pytest.mark.parametrize("receiver", WAYS)
@pytest.mark.parametrize("sender", WAYS)
def test_all_arrive_whole_and_in_order(sender, receiver, family):
    chance = random.Random(1)
    sending, receiving = sender(), receiver()
    try:
        pair = connected(family)
        left, right = pair.__enter__()
    except OSError:
        pytest.skip("no IPv6 on loopback")
    with contextlib.ExitStack() as stack:
        stack.push(pair)
        for count in (1, 2, 63, 64, 1, 30):
            packets = [chance.randbytes(chance.choice((0, 1, 40, 511, 512))) for _ in range(count)]
            assert sending.send(left, packets) == count
            assert receiving.receive(right) == packets
        assert receiving.receive(right) == []


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.lists(PACKET, max_size=BATCH), max_size=6))
def test_both_ways_send_and_receive_the_same(batches):
    many, one = open_datagrams(), OneByOne()
    with connected() as (left, right):
        for packets in batches:
            assert many.send(left, packets) == one.send(right, packets) == len(packets)
            assert one.receive(right) == many.receive(left) == packets


@pytest.mark.parametrize("way", WAYS)
def test_no_more_than_a_batch_goes_out_or_comes_in(way):
    datagrams = way()
    packets = [i.to_bytes(2, "big") for i in range(BATCH + 40)]
    with connected() as (left, right):
        assert datagrams.send(left, packets) == BATCH
        assert datagrams.send(left, packets[BATCH:]) == 40
        assert datagrams.send(left, []) == 0
        assert datagrams.receive(right) == packets[:BATCH]
        assert datagrams.receive(right) == packets[BATCH:]


@pytest.mark.parametrize("way", WAYS)
def test_a_full_buffer_takes_a_part_and_says_how_much(way):
    datagrams = way()
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with left, right:
        left.setblocking(False)
        right.setblocking(False)
        sent = 0
        while n := datagrams.send(left, [bytes(500)] * BATCH):
            sent += n
        came = 0
        while packets := datagrams.receive(right):
            came += len(packets)
            assert set(packets) == {bytes(500)}
        assert 0 < sent == came
        assert datagrams.send(left, [b"again"]) == 1
        assert datagrams.receive(right) == [b"again"]


@pytest.mark.parametrize("way", WAYS)
def test_a_port_that_refuses_holds_up_no_packet(way):
    datagrams = way()
    with connected() as (left, right):
        where = right.getsockname()
        right.close()
        for _ in range(3):
            # The refusal of an earlier packet may be told at any later one.
            assert datagrams.receive(left) == []
            n = datagrams.send(left, [b"one", b"two"])
            assert n > 0
            assert datagrams.send(left, [b"two"][n - 1 :]) == 2 - n
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as back:
            back.bind(where)
            back.connect(left.getsockname())
            assert datagrams.send(left, [b"three"]) == 1
            assert back.recv(10) == b"three"
            back.send(b"four")
            assert datagrams.receive(left) == [b"four"]


@pytest.mark.parametrize("way", WAYS)
def test_a_packet_that_is_longer_than_any_reply_is_cut_and_harms_no_other(way):
    datagrams = way()
    with connected() as (left, right):
        for size in (LONGEST_REPLY, LONGEST_REPLY + 1, 30_000, 5):
            right.send(bytes((size & 255,)) * size)
        sizes = [LONGEST_REPLY, LONGEST_REPLY, LONGEST_REPLY, 5]
        assert list(map(len, datagrams.receive(left))) == sizes


@pytest.mark.parametrize("way", WAYS)
def test_what_was_received_stays_when_more_comes(way):
    datagrams = way()
    with connected() as (left, right):
        right.send(b"first")
        first = datagrams.receive(left)
        right.send(b"other")
        assert (first, datagrams.receive(left)) == ([b"first"], [b"other"])
