"""Round trips as ``ping`` tells them, by the shortest program that can, and ``curl``'s rate."""

import os
import re
import shutil
import socket
import struct
import subprocess
import time

_TIMESTAMP = 29
RTT = re.compile(r"time=([\d.]+) ms")


class Pinger:
    """As ``ping`` does it: the kernel's stamp of arrival, on the clock of the day."""

    def __init__(self, address):
        self._six = ":" in address
        family, number = (socket.AF_INET6, 58) if self._six else (socket.AF_INET, 1)
        self._sock = socket.socket(family, socket.SOCK_DGRAM, number)
        self._sock.settimeout(0.3)
        self._sock.setsockopt(socket.SOL_SOCKET, _TIMESTAMP, 1)
        self._sock.connect((address, 0))
        self._sequence = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._sock.close()

    def measure(self):
        """The round trip of one packet in milliseconds; nothing when it was lost."""
        self._sequence += 1
        head = struct.pack("!BBHHH", 128 if self._six else 8, 0, 0, 0, self._sequence)
        packet = head + os.urandom(48)
        start = time.time()
        self._sock.send(packet)
        try:
            return [(self._arrival() - start) * 1e3]
        except TimeoutError:
            return []

    def _arrival(self):
        while True:
            data, notes, _, _ = self._sock.recvmsg(512, 128)
            if struct.unpack_from("!H", data, 6)[0] == self._sequence:
                seconds, micros = struct.unpack_from("@ll", notes[0][2])
                return seconds + micros / 1e6


def curl(address, path):
    """Bytes per second over the whole transfer, as ``curl`` tells; ``None`` without one."""
    if shutil.which("curl") is None:
        return None
    host = f"[{address}]" if ":" in address else address
    words = [
        "curl",
        "-s",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code} %{speed_download}",
        f"http://{host}{path}",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    code, speed = done.stdout.split()
    assert code == "200"
    return float(speed)
