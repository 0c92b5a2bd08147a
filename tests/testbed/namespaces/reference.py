"""Round trips, loss, jitter, rates and steps of HTTP by ``ping``, ``iperf3`` and ``curl``."""

import json
import os
import re
import shutil
import socket
import struct
import subprocess
import time
from contextlib import contextmanager

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


STEPS = ("dns", "connect", "tls", "wait")
_MOMENTS = ("namelookup", "connect", "appconnect", "pretransfer", "starttransfer")


def curl_steps(url):
    """Milliseconds of each step of an HTTPS request; nothing where it failed."""
    words = ["curl", "-s", "-k", "-o", "/dev/null", "--max-time", "5", "-w"]
    words += [" ".join(f"%{{time_{name}}}" for name in _MOMENTS), url]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        return {}
    name, connected, secured, ready, first = (float(text) * 1e3 for text in done.stdout.split())
    return dict(
        zip(STEPS, (name, connected - name, secured - connected, first - ready), strict=True)
    )


@contextmanager
def lost_pings(address, count, interval_s):
    """Let ``ping`` send ``count`` echo requests; yield a function that counts the lost ones."""
    words = ["ping", "-n", "-q", "-c", str(count), "-i", str(interval_s), "-W", "1", address]
    ping = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    def count_lost():
        text = ping.communicate()[0]
        sent, received = re.search(r"(\d+) packets transmitted, (\d+) received", text).groups()
        assert int(sent) == count
        return count - int(received)

    yield count_lost
    ping.wait()


def iperf3_stream(address, port, count, interval_s, octets):
    """Jitter in ms, lost and all datagrams of a stream in one direction, as ``iperf3`` reports."""
    rate = round(8 * octets / interval_s)
    words = ["iperf3", "-c", address, "-p", str(port), "-u", "-J", "-l", str(octets)]
    words += ["-b", str(rate), "-k", str(count)]
    # iperf3 ends with an error where the first datagram, which opens its stream, is lost.
    for _ in range(8):
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        document = json.loads(done.stdout)
        if "error" not in document:
            break
    whole = document["end"]["sum"]
    return whole["jitter_ms"], whole["lost_packets"], whole["packets"]
