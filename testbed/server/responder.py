"""Replies to packets: cached answers on a fast path, full parsing otherwise."""

from collections import Counter

from testbed.server.answers import REFUSED, Authority, Reply
from testbed.server.message import (
    AXFR,
    IXFR,
    LARGEST_UDP_BYTES,
    PLAIN_UDP_BYTES,
    TYPE_NAMES,
    Malformed,
    Packed,
    Query,
    frame,
    pack_reply,
    read_query,
    refusal,
)

# Answers kept ready; one takes some 300 bytes, so the whole cache stays below 100 MB.
_CACHE_ENTRIES = 250_000
_STREAM_BYTES = 65_535
_PLAIN_OPT = b"\0\0\x29"
_ONE_QUESTION = b"\0\1\0\0\0\0"


class Responder:
    """Answers packets for one authority. ``asked`` counts questions by type name."""

    def __init__(self, authority: Authority) -> None:
        self.authority = authority
        self.asked: Counter[str] = Counter()
        # (name in lower case, type and class, UDP size) -> (header after the id, message body)
        self._ready: dict[tuple[bytes, bytes, int], tuple[bytes, bytes]] = {}

    def respond(self, packet: bytes) -> bytes | None:
        """Return the UDP reply, or ``None`` for no reply."""
        end = packet.find(b"\0", 12) + 1
        if end and packet[2] & 0xFE == 0 and packet[4:10] == _ONE_QUESTION:
            found = self._ready.get(
                (packet[12:end].lower(), packet[end : end + 4], _edns_size(packet, end + 4))
            )
            if found is not None:
                head, body = found
                recursion = packet[2] & 1
                flags = bytes((head[0] | recursion,)) + head[1:]
                return packet[:2] + flags + packet[12 : end + 4] + body
        return self._respond_uncached(packet)

    def _respond_uncached(self, packet: bytes) -> bytes | None:
        try:
            query = read_query(packet)
        except Malformed as problem:
            return None if problem.code is None else refusal(packet, problem.code)
        if query.type in (AXFR, IXFR):
            return frame(query, Packed(REFUSED, (0, 0), b""), query.udp_bytes)
        reply = self.reply_to(query)
        if reply is None:
            return None
        message = frame(query, pack_reply(query, reply), query.udp_bytes)
        if reply.cacheable:
            self._cache(packet, query, message)
        return message

    def _cache(self, packet: bytes, query: Query, message: bytes) -> None:
        end = 12 + len(query.raw)
        size = _edns_size(packet, end)
        if size < 0:
            return  # options or anything else out of the ordinary are not cached
        if len(self._ready) >= _CACHE_ENTRIES:
            self._ready.clear()
        key = (query.raw[:-4].lower(), query.raw[-4:], size)
        self._ready[key] = (bytes((message[2] & 0xFE,)) + message[3:12], message[end:])

    def reply_to(self, query: Query) -> Reply | None:
        """Return the reply of the authority to a parsed query."""
        if query.klass != 1:
            return Reply(REFUSED)
        rtype = TYPE_NAMES.get(query.type, "")
        self.asked[rtype or str(query.type)] += 1
        return self.authority.answer(query.name, rtype)

    def stream_reply(self, query: Query) -> bytes | None:
        """Return the TCP reply, which is never truncated."""
        reply = self.reply_to(query)
        if reply is None:
            return None
        return frame(query, pack_reply(query, reply), _STREAM_BYTES)


def _edns_size(packet: bytes, at: int) -> int:
    """A class of UDP sizes for the cache: 0 without EDNS, -1 for what must be read with care."""
    rest = packet[at:]
    if packet[10:12] == b"\0\0":
        return 0 if not rest else -1
    if len(rest) != 11 or rest[:3] != _PLAIN_OPT or rest[5:11] not in _PLAIN_TAILS:
        return -1
    return min(max(int.from_bytes(rest[3:5], "big"), PLAIN_UDP_BYTES), LARGEST_UDP_BYTES)


# Version 0 without options, with and without the DO bit.
_PLAIN_TAILS = (b"\0\0\0\0\0\0", b"\0\0\x80\0\0\0")
