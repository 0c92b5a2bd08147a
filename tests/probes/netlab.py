"""A small Internet of network namespaces, with links whose delay and loss are known.

Links without either are veth pairs. The others are two TUN devices joined by a process that
forwards packets late or not at all, because not every kernel has netem.
"""

import ctypes
import fcntl
import os
import shutil
import struct
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

FORWARDER = Path(__file__).with_name("forwarder.py")
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x1, 0x1000


def need_namespaces():
    """Skip, with the reason, where namespaces cannot be made."""
    if shutil.which("ip") is None:
        pytest.skip("there is no ip command to make namespaces with")
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    if not Path("/dev/net/tun").exists():
        pytest.skip("there is no /dev/net/tun for links with a delay")
    tried = subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("the kernel does not let us make network namespaces")


class Lab:
    """Namespaces by short names; ends everything that it began."""

    def __init__(self, tag):
        self.tag = f"np{os.getpid()}{tag}"
        self.stack = ExitStack()
        self.links = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def full(self, name):
        return f"{self.tag}-{name}"

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def host(self, name, *, router=False):
        self.ip("netns", "add", self.full(name))
        self.stack.callback(self.ip, "netns", "del", self.full(name))
        self.ip("-n", self.full(name), "link", "set", "lo", "up")
        # Routers answer every packet: the kernel's own limit would hide hops.
        settings = {"net/ipv4/icmp_ratelimit": 0, "net/ipv6/icmp/ratelimit": 0}
        # Addresses are in use at once, without asking the neighbours first.
        settings |= {"net/ipv6/conf/default/accept_dad": 0}
        if router:
            settings |= {"net/ipv4/ip_forward": 1, "net/ipv4/fib_multipath_hash_policy": 1}
            settings |= {"net/ipv6/conf/all/forwarding": 1}
            # Errors come from where the packet came in, as with most routers.
            settings |= {"net/ipv4/icmp_errors_use_inbound_ifaddr": 1}
            settings |= {"net/ipv6/fib_multipath_hash_policy": 1}
        self.inside(name, lambda: [self._set(k, v) for k, v in settings.items()])

    def _set(self, key, value):
        # /proc/sys/net is that of the namespace of the thread that opens it.
        Path("/proc/sys", key).write_text(str(value))

    def link(self, first, second, *, delay_ms=0.0, loss=0.0, seed=1):
        """Join (name, address/length) and (name, address/length), each way with the delay."""
        self.links += 1
        devices = f"l{self.links}a", f"l{self.links}b"
        ends = list(zip((first, second), devices, strict=True))
        if delay_ms or loss:
            self._tunnel(ends, delay_ms, loss, seed)
        else:
            (one, a), (two, b) = ends
            peer = ["peer", "name", b, "netns", self.full(two[0])]
            self.ip("link", "add", a, "netns", self.full(one[0]), "type", "veth", *peer)
        for (name, *addresses), device in ends:
            for address in addresses:
                extra = ["nodad"] if ":" in address else []
                self.ip("-n", self.full(name), "addr", "add", address, "dev", device, *extra)
            self.ip("-n", self.full(name), "link", "set", device, "up")
        return devices

    def _tunnel(self, ends, delay_ms, loss, seed):
        numbers = [self.inside(name, lambda d=device: tun(d)) for (name, *_), device in ends]
        command = [sys.executable, "-S", str(FORWARDER), *map(str, numbers)]
        process = subprocess.Popen(
            [*command, str(delay_ms), str(loss), str(seed)], pass_fds=numbers
        )
        for number in numbers:
            os.close(number)
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)

    def route(self, name, *words):
        family = "-6" if any(":" in w for w in words) else "-4"
        self.ip(family, "-n", self.full(name), "route", "add", *words)

    def inside(self, name, work):
        """Do something in a namespace: in a thread of its own, which ends there."""
        found = []

        def enter():
            with Path("/var/run/netns", self.full(name)).open() as handle:
                if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns")
            found.append(work())

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        return found[0]


def tun(name):
    number = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(number, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return number
