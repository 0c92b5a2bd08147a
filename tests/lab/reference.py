"""Round trips as ``ping`` tells them; where there is none, by the shortest program that can."""

import os
import re
import shutil
import socket
import struct
import subprocess
import time

_TIMESTAMP = 29
_RTT = re.compile(r"time=([\d.]+) ms")


def ping(address, count, interval_s):
    """The round trips that came, in milliseconds."""
    program = shutil.which("ping")
    if program is None:
        return _own_ping(address, count, interval_s)
    words = [program, "-n", "-c", str(count), "-i", str(interval_s), "-W", "0.3", address]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return [float(text) for text in _RTT.findall(done.stdout)]


def _own_ping(address, count, interval_s):
    """As ``ping`` does it: the kernel's stamp of arrival, on the clock of the day."""
    six = ":" in address
    family, number = (socket.AF_INET6, 58) if six else (socket.AF_INET, 1)
    found = []
    with socket.socket(family, socket.SOCK_DGRAM, number) as sock:
        sock.settimeout(0.3)
        sock.setsockopt(socket.SOL_SOCKET, _TIMESTAMP, 1)
        sock.connect((address, 0))
        for sequence in range(count):
            head = struct.pack("!BBHHH", 128 if six else 8, 0, 0, 0, sequence)
            start = time.time()
            sock.send(head + os.urandom(48))
            try:
                arrived = _arrival(sock, sequence)
            except TimeoutError:
                continue
            found.append((arrived - start) * 1e3)
            time.sleep(interval_s)
    return found


def _arrival(sock, sequence):
    while True:
        data, notes, _, _ = sock.recvmsg(512, 128)
        if struct.unpack_from("!H", data, 6)[0] == sequence:
            seconds, micros = struct.unpack_from("@ll", notes[0][2])
            return seconds + micros / 1e6


def curl(address, path):
    """Bytes per second over the whole transfer, as ``curl`` tells; ``None`` without one."""
    if shutil.which("curl") is None:
        return None
    host = f"[{address}]" if ":" in address else address
    words = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code} %{speed_download}",
             f"http://{host}{path}"]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    code, speed = done.stdout.split()
    assert code == "200"
    return float(speed)
