"""Receivers of alerts on loopback: a web server that notes what comes, and a mail server."""

import socket
import socketserver
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.received.append((headers, body))
        status, headers, reply = self.server.answer()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *args):
        pass


class Receiver(ThreadingHTTPServer):
    """A web server: ``status`` is what it answers; ``received`` holds (headers, body),
    names of headers in lower case."""

    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), _Hook)
        self.received, self.status, self.headers = [], 204, {}

    def answer(self):
        return self.status, self.headers, b""

    @property
    def place(self):
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self):
        return f"http://{self.place}/hook"

    @property
    def ids(self):
        return [headers["webhook-id"] for headers, _ in self.received]


@contextmanager
def serving(server):
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Mail(socketserver.StreamRequestHandler):
    def handle(self):
        self._say("220 test")
        data = b""
        for line in self.rfile:
            word = line[:4].upper()
            if word == b"DATA":
                self._say("354 go on")
                data = b"".join(iter(self.rfile.readline, b".\r\n"))
                self.server.mails.append(data.decode())
                self._say("250 queued")
            elif word == b"RCPT" and self.server.refuses:
                self._say("550 no such mailbox")
            elif word == b"QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 fine")

    def _say(self, text):
        self.wfile.write(text.encode() + b"\r\n")


class MailServer(socketserver.ThreadingTCPServer):
    """A mail server that keeps what is sent, or refuses every recipient."""

    daemon_threads = allow_reuse_address = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Mail)
        self.mails, self.refuses = [], False

    @property
    def port(self):
        return self.server_address[1]


class Listener:
    """A socket that counts the connections to it, on IPv4 and IPv6 loopback alike."""

    def __init__(self):
        self._socks = [self._bind(socket.AF_INET, "127.0.0.1", 0)]
        self.port = self._socks[0].getsockname()[1]
        if socket.has_ipv6:
            self._socks.append(self._bind(socket.AF_INET6, "::1", self.port))

    def _bind(self, family, address, port):
        sock = socket.socket(family)
        sock.bind((address, port))
        sock.listen(512)
        sock.setblocking(False)
        return sock

    def connections(self):
        """How many have connected since the last call."""
        found = 0
        for sock in self._socks:
            while True:
                try:
                    sock.accept()[0].close()
                except BlockingIOError:
                    break
                found += 1
        return found

    def close(self):
        for sock in self._socks:
            sock.close()
