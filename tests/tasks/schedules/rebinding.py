"""Webhooks to names of a hostile name server: ``python -m tests.tasks.schedules.rebinding``.

Runs in network and mount namespaces of its own, with the only name server on loopback. Prints the
number of names, connections to a listening socket, and those of a control.
"""

import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import dns.message
import dns.rdatatype
import dns.rrset

# Answers to the questions about a name, one after the other; the last one repeats.
NAMES = {
    "loopback.test": ["127.0.0.1"],
    "other-loopback.test": ["127.9.8.7"],
    "any.test": ["0.0.0.0"],
    "metadata.test": ["169.254.169.254"],
    "azure.test": ["168.63.129.16"],
    "alibaba.test": ["100.100.100.200"],
    "private.test": ["10.0.0.1"],
    "shared.test": ["100.64.0.1"],
    "v6-loopback.test": ["::1"],
    "v6-mapped.test": ["::ffff:127.0.0.1"],
    "v6-local.test": ["fd00:ec2::254"],
    "v6-nat.test": ["64:ff9b::7f00:1"],
    "both.test": ["93.184.215.14 127.0.0.1"],
    "both-reversed.test": ["127.0.0.1 93.184.215.14"],
    "rebinding.test": ["93.184.215.14", "127.0.0.1"],
    "rebinding-v6.test": ["2606:4700::1111", "::1"],
    "mixed.test": ["93.184.215.14 ::1"],
    "public.test": ["93.184.215.14"],
}


def answer(data, asked):
    question = dns.message.from_wire(data)
    name, kind = question.question[0].name, question.question[0].rdtype
    host = str(name).rstrip(".").lower()
    reply = dns.message.make_response(question)
    answers = NAMES.get(host, [""])
    # Both families are asked for at once and count as one question.
    number = asked.setdefault((host, kind), 0)
    asked[host, kind] += 1
    for address in answers[min(number, len(answers) - 1)].split():
        wanted = dns.rdatatype.AAAA if ":" in address else dns.rdatatype.A
        if kind == wanted:
            reply.answer.append(dns.rrset.from_text(name, 0, "IN", wanted, address))
    return reply.to_wire()


def serve_names(sock):
    asked = {}
    while True:
        data, peer = sock.recvfrom(4096)
        sock.sendto(answer(data, asked), peer)


def enter_world():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    folder = Path(tempfile.mkdtemp())
    for name, text in (
        ("resolv.conf", "nameserver 127.0.0.1\noptions attempts:1 timeout:1\n"),
        ("nsswitch.conf", "hosts: dns\n"),
    ):
        (folder / name).write_text(text)
        subprocess.run(["mount", "--bind", str(folder / name), f"/etc/{name}"], check=True)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 53))
    threading.Thread(target=serve_names, args=(sock,), daemon=True).start()


def main():
    enter_world()
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    from django.conf import settings

    from tasks.schedules import sending
    from tests.tasks.schedules.receivers import Listener
    from tests.tasks.schedules.test_targets import attempt

    sending.TIMEOUT_S = 1.0
    listener = Listener()
    for name in NAMES:
        assert not attempt(f"https://{name}:{listener.port}/").is_accepted
    seen = listener.connections()
    settings.WEBHOOK_TEST_TARGETS = [f"loopback.test:{listener.port}"]
    attempt(f"https://loopback.test:{listener.port}/")
    control = listener.connections()
    sys.stdout.write(f"names {len(NAMES)} connections {seen} control {control}\n")


if __name__ == "__main__":
    main()
