"""The plainest loop in Python that resolves names in bulk: the floor of what an engine in it costs.

One query per name, retransmitted after half a second; status and addresses of each reply, read by
hand. No limits, no aliases, no authorities.
"""

import json
import os
import select
import socket
import sys
import time
from collections import deque
from pathlib import Path
from typing import TextIO

WINDOW, BURST, RETRY_S = 1_000, 64, 0.5
# By socket and id: the question section and the name.
Pending = dict[tuple[int, bytes], tuple[bytes, str]]
_STATUS = {0: "NOERROR", 3: "NXDOMAIN"}


def main(names: str, out: str, *endpoints: str) -> None:
    """Ask every name's A records of these servers in turn."""
    waiting = deque(Path(names).read_text().split())
    sockets, poll = {}, select.epoll()
    for endpoint in endpoints:
        host, _, port = endpoint.partition(":")
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        sock.connect((host, int(port)))
        sock.setblocking(False)
        sockets[sock.fileno()] = sock
        poll.register(sock.fileno(), select.EPOLLIN)
    pending: Pending = {}
    sent: deque[tuple[float, tuple[int, bytes]]] = deque()
    numbers = list(sockets)
    with Path(out).open("w", buffering=1 << 20) as output:
        while waiting or pending:
            for _ in range(min(BURST, WINDOW - len(pending), len(waiting))):
                name, ident = waiting.popleft(), os.urandom(2)
                numbers.append(numbers.pop(0))
                labels = b"".join(bytes((len(x),)) + x.encode() for x in name.split("."))
                question = labels + b"\0\0\1\0\1"
                sockets[numbers[0]].send(ident + b"\1\0\0\1\0\0\0\0\0\0" + question)
                pending[numbers[0], ident] = question, name
                sent.append((time.monotonic(), (numbers[0], ident)))
            for number, _ in poll.poll(0.01 if pending else 0):
                _receive(sockets[number], number, pending, output)
            while sent and (sent[0][1] not in pending or sent[0][0] < time.monotonic() - RETRY_S):
                lost = pending.pop(sent.popleft()[1], None)
                if lost:
                    waiting.append(lost[1])


def _receive(sock: socket.socket, number: int, pending: Pending, output: TextIO) -> None:
    for _ in range(BURST):
        try:
            packet = sock.recv(4096)
        except BlockingIOError:
            return
        question, name = pending.get((number, packet[:2]), (b"", ""))
        end = 12 + len(question)
        if not question or packet[12:end] != question:
            continue
        del pending[number, packet[:2]]
        answers = []
        for _ in range(packet[7]):
            while 0 < packet[end] < 64:
                end += packet[end] + 1
            end += 1 if not packet[end] else 2
            size = packet[end + 8] << 8 | packet[end + 9]
            data = packet[end + 10 : end + 10 + size]
            if packet[end + 1] == 1:
                address = socket.inet_ntoa(data)
                answers.append({"name": name, "type": "A", "data": address})
            end += 10 + size
        status = _STATUS.get(packet[3] & 15, "OTHER") if answers or packet[3] & 15 else "NODATA"
        output.write(
            json.dumps({"name": name, "type": "A", "status": status, "answers": answers}) + "\n"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
