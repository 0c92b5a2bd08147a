"""Real servers on real sockets, for probes to measure."""

import socket
import threading
from contextlib import contextmanager, suppress


class Server:
    """A listening socket and the threads that serve it."""

    def __init__(self, sock, serve):
        self.sock, self.port = sock, sock.getsockname()[1]
        self.thread = threading.Thread(target=serve, args=(sock,), daemon=True)
        self.thread.start()

    def close(self):
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


def listen(handle, address="127.0.0.1", port=0):
    """A TCP server; ``handle`` gets each connection in a thread."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.create_server((address, port), family=family, backlog=128)

    def serve(sock):
        while True:
            try:
                connection, _ = sock.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(connection,), daemon=True).start()

    def one(connection):
        with connection:
            try:
                handle(connection)
            except OSError:
                return

    return Server(sock, serve)


def answer(reply, address="127.0.0.1", port=0):
    """A UDP server; ``reply`` gives the datagrams that answer one."""
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((address, port))

    def serve(sock):
        while True:
            try:
                data, sender = sock.recvfrom(65_536)
                for datagram in reply(data) if data else ():
                    sock.sendto(datagram, sender)
            except OSError:
                return

    return Server(sock, serve)


@contextmanager
def running(*servers):
    try:
        yield servers
    finally:
        for server in servers:
            server.close()


def echo_connection(connection):
    while data := connection.recv(65_536):
        connection.sendall(data)


def page(body=b"hello", head="HTTP/1.1 200 OK"):
    """Handle a connection by one answer with a length."""

    def handle(connection):
        connection.recv(65_536)
        connection.sendall(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    return handle
