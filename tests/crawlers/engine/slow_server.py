"""A name server that answers so many questions a second, from the buffer of one socket."""

import socket
import threading
import time
from collections import Counter

# Type, class, time to live, length and data of one address behind a pointer to the question.
_ANSWER = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1"
# A server that is later than this has lost some of its capacity.
MOST_LATE_S = 0.05


class SlowServer:
    """Answers each question with one address; ``asked`` counts question sections it has read.

    ``late_s`` is by how much it was late, at most, for a question that was waiting.
    """

    def __init__(self, per_second, buffer_octets=212_992):
        self.interval_s = 1 / per_second if per_second else 0.0
        self.asked = Counter()
        self.late_s = 0.0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_octets // 2)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]

    def __enter__(self):
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _serve(self):
        due_at = time.monotonic()
        while True:
            try:
                packet, peer = self._receive(due_at + self.interval_s)
                # A server of this capacity, however late its thread is woken.
                due_at = max(due_at + self.interval_s, time.monotonic() - MOST_LATE_S)
                time.sleep(max(0.0, due_at - time.monotonic()))
                end = packet.index(b"\0", 12) + 5
                self.asked[packet[12:end]] += 1
                head = packet[:2] + b"\x85\x80\0\1\0\1\0\0\0\0"
                self.socket.sendto(head + packet[12:end] + _ANSWER, peer)
            except OSError:
                return

    def _receive(self, due_at):
        """The next packet; one that already waits may be late."""
        try:
            found = self.socket.recvfrom(512, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return self.socket.recvfrom(512)
        self.late_s = max(self.late_s, time.monotonic() - due_at)
        return found
