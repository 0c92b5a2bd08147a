"""Encode queries in wire form from parts that are encoded once.

Names of a crawl have common suffixes: the wire form of everything behind the first label is cached,
with type and class.
"""

import ipaddress
import secrets
import struct
from collections.abc import Sequence

from core.errors import BadInput
from crawlers.dns import message
from crawlers.engine.config import EngineConfig, Question

_ONE_QUESTION = b"\0\1\0\0\0\0"
_OPT_TYPE = b"\0\0\x29"
_NO_OPTION = struct.pack("!HIH", message.EDNS_SIZE, 0, 0)
# Name OPT, class = payload size, no flags, no options (RFC 6891).
OPT_RECORD = _OPT_TYPE + _NO_OPTION
_CLIENT_SUBNET = 8
# The bit that makes a letter small or capital, for bytes that are letters.
_CASE_BITS = bytes(0x20 if 65 <= b & 0xDF <= 90 else 0 for b in range(256))
_LENGTHS = [bytes((n,)) for n in range(64)]
_KEPT_ENDINGS = 200_000
_LONGEST_ENDING = 255 + 4 - 64


def option_of_subnet(subnet: str) -> bytes:
    """The OPT record with a client subnet (RFC 7871 section 6); raises ``BadInput``."""
    try:
        network = ipaddress.ip_network(subnet, strict=False)
    except ValueError as error:
        raise BadInput(f"{subnet!r} is not a network; write it like 203.0.113.0/24") from error
    length = network.prefixlen
    family = 1 if network.version == 4 else 2
    address = network.network_address.packed[: (length + 7) // 8]
    body = struct.pack("!HBB", family, length, 0) + address
    option = struct.pack("!HH", _CLIENT_SUBNET, len(body)) + body
    return _OPT_TYPE + struct.pack("!HIH", message.EDNS_SIZE, 0, len(option)) + option


class Encoder:
    """Encodes the queries of one run."""

    def __init__(self, config: EngineConfig) -> None:
        self._flags = b"\1\0" if config.recursion else b"\0\0"
        self._case_mixing = config.case_mixing
        self._endings: dict[str, dict[str, bytes]] = {}
        self._subnets: dict[str, bytes] = {}
        # What follows the id and precedes the question, with one additional record (OPT).
        self.head = self._flags + _ONE_QUESTION + b"\0\1"

    def encode_short(self, questions: Sequence[Question]) -> tuple[list[Question], list[bytes]]:
        """Return the questions of the fast path with their question sections.

        Questions with a client subnet, or with unusual names, are left out.
        """
        fit: list[Question] = []
        sections: list[bytes] = []
        keep, keep_section, lengths = fit.append, sections.append, _LENGTHS
        known, endings = "", {}
        for question in questions:
            name, rrtype, _, _, subnet, _ = question
            if rrtype != known:
                known, endings = rrtype, self._endings.setdefault(rrtype, {})
            label, _, rest = name.partition(".")
            ending = endings.get(rest)
            if ending is None:
                ending = self._learn(endings, rest, rrtype)
            size = len(label)
            if ending and 0 < size < 64 and not subnet and name.isascii() and "\\" not in label:
                keep(question)
                keep_section(lengths[size] + label.encode() + ending)
        return fit, sections

    def _learn(self, endings: dict[str, bytes], rest: str, rrtype: str) -> bytes:
        """Wire form of what follows the first label, type and class; nothing where it has none."""
        if len(endings) >= _KEPT_ENDINGS:
            endings.clear()
        try:
            ending = message.encode_question(rest, rrtype) if rest else b""
        except (BadInput, KeyError):
            ending = b""
        # With the longest first label it has to be a name that DNS can carry.
        endings[rest] = ending = ending if len(ending) <= _LONGEST_ENDING else b""
        return ending

    def mix_cases(self, asked: bytes) -> bytes:
        """The question with letters in random case, where that is wanted ("0x20")."""
        if not self._case_mixing:
            return asked
        size = len(asked) - 4
        # Length bytes are below 64, so none is taken for a letter.
        letters = int.from_bytes(asked[:size].translate(_CASE_BITS), "big")
        mixed = int.from_bytes(asked[:size], "big") ^ (letters & secrets.randbits(8 * size))
        return mixed.to_bytes(size, "big") + asked[size:]

    def encode_query(self, ident: bytes, asked: bytes, *, edns: bool, subnet: str = "") -> bytes:
        """A whole query; a client subnet travels in EDNS, so it goes with it."""
        if not edns:
            return ident + self._flags + _ONE_QUESTION + b"\0\0" + asked
        return ident + self.head + asked + self._option(subnet)

    def _option(self, subnet: str) -> bytes:
        if not subnet:
            return OPT_RECORD
        if subnet not in self._subnets:
            if len(self._subnets) > 10_000:
                self._subnets.clear()
            self._subnets[subnet] = option_of_subnet(subnet)
        return self._subnets[subnet]
