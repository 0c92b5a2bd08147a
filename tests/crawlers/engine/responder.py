"""A name server with bad manners on loopback: real sockets, answers by function."""

import contextlib
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable

import dns.message
import dns.rcode
import dns.rrset

Reply = Callable[[dns.message.Message], "list[bytes] | None"]


class Responder:
    """Answers UDP and TCP queries with whatever ``reply`` gives; counts what was asked."""

    def __init__(self, reply):
        self.reply = reply
        self.asked = Counter()
        while not self._bind():
            pass  # another process has the port of one of the sockets
        self.open = True

    def _bind(self):
        self.stream = socket.create_server(("127.0.0.1", 0))
        self.port = self.stream.getsockname()[1]
        self.udp, self.liar = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        try:
            self.udp.bind(("127.0.0.1", self.port))
            self.liar.bind(("127.0.0.9", self.port))
        except OSError:
            for sock in (self.stream, self.udp, self.liar):
                sock.close()
            return False
        return True

    def __enter__(self):
        for work in (self._serve_udp, self._serve_tcp):
            threading.Thread(target=work, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.open = False
        for sock in (self.udp, self.stream, self.liar):
            sock.close()

    def _serve_udp(self):
        while self.open:
            try:
                packet, peer = self.udp.recvfrom(4096)
            except OSError:
                return
            for sender, answer in self._answers(packet, "udp"):
                with contextlib.suppress(OSError):  # closed meanwhile
                    sender.sendto(answer, peer)

    def _serve_tcp(self):
        while self.open:
            try:
                connection, _ = self.stream.accept()
            except OSError:
                return
            with connection:
                size = struct.unpack("!H", connection.recv(2))[0]
                for _, answer in self._answers(connection.recv(size), "tcp"):
                    connection.sendall(struct.pack("!H", len(answer)) + answer)

    def _answers(self, packet, protocol):
        query = dns.message.from_wire(packet)
        name = query.question[0].name.to_text(omit_final_dot=True)
        self.asked[name] += 1
        for answer in self.reply(query, name, protocol, self.asked[name]) or []:
            spoofed = isinstance(answer, tuple)
            message = answer[1] if spoofed else answer
            wire = message if isinstance(message, bytes) else message.to_wire(max_size=65535)
            yield (self.liar if spoofed else self.udp), wire


def good(query, *records, rcode=0):
    """A reply with (owner, type, data) records."""
    message = dns.message.make_response(query)
    message.set_rcode(rcode)
    for owner, rrtype, data in records:
        message.answer.append(dns.rrset.from_text(owner + ".", 60, "IN", rrtype, data))
    return message
