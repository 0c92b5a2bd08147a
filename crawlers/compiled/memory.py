"""The block of memory that a compiled loop works on, as Python sees it."""

import contextlib
import ctypes
import mmap
from collections.abc import Sequence
from typing import Any

from crawlers.compiled import layout as m

_WORD, _NUMBER = 8, 4
_PAGE = 4_096


class Memory:
    """One block for so many servers, sockets and slots; nothing in it moves or grows.
    ``polled`` is the number of sockets that end a wait, if more than the channels.

    ``words`` are the words of ``layout``; ``rows`` and ``octets`` give its regions. With
    ``has_records`` the loop lists the records of its lines.
    """

    def __init__(
        self,
        servers: int,
        channels: int,
        slots: int,
        *,
        polled: int = 0,
        has_records: bool = False,
    ) -> None:
        sizes = {
            m.SERVERS: servers * m.SERVER_WORDS * _WORD,
            m.CHANNELS: channels * m.CHANNEL_WORDS * _WORD,
            m.POLLED: max(channels, polled) * _WORD,
            m.TABLE: _count_places(slots) * _NUMBER,
            m.NEXT_SLOTS: slots * _NUMBER,
            m.TIME_TEXT: m.TIME_OCTETS,
            m.DEADLINES: slots * _WORD,
            m.SLOTS: slots * m.SLOT_WORDS * _WORD,
            m.QUESTIONS: slots * m.QUESTION_CELL,
            m.FREE: slots * _WORD,
            m.EXPIRED: slots * _WORD,
            m.DEFERRED: m.MOST_DEFERRED * m.DEFERRED_WORDS * _WORD,
            m.UNUSUAL: m.MOST_UNUSUAL * m.UNUSUAL_WORDS * _WORD,
            m.UNUSUAL_PACKETS: m.MOST_UNUSUAL * m.RECEIVE_CELL,
            m.RECEIVE_HEADERS: m.BATCH * m.HEADER_WORDS * _WORD,
            m.RECEIVE_VECTORS: m.BATCH * m.VECTOR_WORDS * _WORD,
            m.RECEIVE_CELLS: m.BATCH * m.RECEIVE_CELL,
            m.SEND_HEADERS: m.BATCH * m.HEADER_WORDS * _WORD,
            m.SEND_VECTORS: m.BATCH * m.VECTOR_WORDS * _WORD,
            m.SEND_CELLS: m.BATCH * m.SEND_CELL,
            m.RANDOM: m.RANDOM_OCTETS,
            m.OUT: m.OUT_OCTETS,
            m.RESULTS: m.MOST_RESULTS * m.RESULT_WORDS * _WORD,
            m.SERVER_TEXTS: servers * m.SERVER_TEXT,
            m.TYPES: 16 * _WORD,
            m.TYPE_TEXTS: 16 * m.TYPE_TEXT,
            m.TIMESPEC: 2 * _WORD,
            m.CHAIN: 16 * m.CHAIN_WORDS * _WORD,
            m.LAST_QUESTION: m.QUESTION_CELL,
            m.SOURCES: m.BATCH * m.ADDRESS_WORDS * _WORD,
            m.RECORDS: has_records * m.MOST_RECORDS * m.RECORD_WORDS * _WORD,
        }
        starts, end = {}, m.N_WORDS * _WORD
        for region, size in sizes.items():
            starts[region] = end
            end += (size + _WORD - 1) // _WORD * _WORD
        self._sizes, self._starts = sizes, starts
        octets = (end + _PAGE - 1) // _PAGE * _PAGE
        self._block = mmap.mmap(-1, octets, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        # Slots and lines are read and written at random places.
        with contextlib.suppress(OSError):
            self._block.madvise(mmap.MADV_HUGEPAGE)
        self._view = memoryview(self._block)
        self.words = self._view.cast("q")
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._block))
        for region, start in starts.items():
            self.words[region] = self.address + start
            self.words[m.LENGTHS + region] = sizes[region]
        self._connect_cells(m.RECEIVE_HEADERS, m.RECEIVE_VECTORS, m.RECEIVE_CELLS, m.RECEIVE_CELL)
        self._connect_cells(m.SEND_HEADERS, m.SEND_VECTORS, m.SEND_CELLS, m.SEND_CELL)
        self._slots = self.rows(m.SLOTS)
        self._table = self.octets(m.TABLE).cast("i")
        self._next_slots = self.octets(m.NEXT_SLOTS).cast("i")
        self._clear_slots(slots)
        self.words[m.QUERIES] = 0
        self.words[m.HAS_LINES] = 1
        self._text = b""
        # Buffers of others that the loop reads or writes.
        self._buffers: dict[int, Any] = {}

    def rows(self, region: int) -> memoryview:
        """A region in words."""
        return self.octets(region).cast("q")

    def octets(self, region: int) -> memoryview:
        """A region in octets."""
        start = self._starts[region]
        return self._view[start : start + self._sizes[region]]

    def link_slot(self, slot: int, channel: int, ident: int) -> None:
        """Let the loop find a slot by its channel and id."""
        row = slot * m.SLOT_WORDS
        self._slots[row + m.Q_CHANNEL], self._slots[row + m.Q_IDENT] = channel, ident
        place = self._place_of(slot)
        self._next_slots[slot], self._table[place] = self._table[place], slot

    def unlink_slot(self, slot: int) -> None:
        """Let the loop find a slot no longer; its row loses the id."""
        place, following = self._place_of(slot), self._next_slots
        self._slots[slot * m.SLOT_WORDS + m.Q_IDENT] = m.NOTHING
        if self._table[place] == slot:
            self._table[place] = following[slot]
            return
        at = self._table[place]
        while following[at] != slot:
            at = following[at]
        following[at] = following[slot]

    def is_linked(self, slot: int) -> bool:
        """Whether a slot belongs to a query in flight."""
        return self._slots[slot * m.SLOT_WORDS + m.Q_IDENT] != m.NOTHING

    def _place_of(self, slot: int) -> int:
        row = slot * m.SLOT_WORDS
        channel, ident = self._slots[row + m.Q_CHANNEL], self._slots[row + m.Q_IDENT]
        return (ident + channel * m.PLACE_STEP) & (len(self._table) - 1)

    def set_text(self, text: bytes) -> None:
        """Let the loop read names from ``text``, one per line."""
        self._text = text
        self.words[m.TEXT] = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0
        self.words[m.LENGTHS + m.TEXT] = len(text)
        self.words[m.TEXT_AT], self.words[m.TEXT_END] = 0, len(text)
        self.words[m.TYPE_AT] = 0

    def set_buffer(self, region: int, buffer: Any) -> None:
        """Let the loop use a writable buffer of 64-bit integers as a region."""
        self._buffers[region] = buffer
        self.words[region] = ctypes.addressof(ctypes.c_int64.from_buffer(buffer))
        self.words[m.LENGTHS + region] = memoryview(buffer).nbytes

    def buffer(self, region: int) -> Any:
        """The buffer that the loop uses as a region."""
        return self._buffers[region]

    def record_sources(self) -> None:
        """Let the kernel write where each datagram came from (IPv4)."""
        headers = self.rows(m.RECEIVE_HEADERS)
        for number in range(m.BATCH):
            source = self.words[m.SOURCES] + number * m.ADDRESS_WORDS * _WORD
            headers[number * m.HEADER_WORDS + m.H_NAME] = source
            headers[number * m.HEADER_WORDS + m.H_NAME_LENGTH] = m.ADDRESS_WORDS * _WORD

    def text_part(self, begin: int, end: int) -> str:
        """A part of the text that the loop reads."""
        return self._text[begin:end].decode("ascii", "replace")

    def set_types(self, types: Sequence[tuple[str, int]]) -> None:
        """Name and code of each type that is queried."""
        codes, texts = self.rows(m.TYPES), self.octets(m.TYPE_TEXTS)
        for number, (name, code) in enumerate(types):
            codes[number] = code
            text = bytes((len(name),)) + name.encode()
            start = number * m.TYPE_TEXT
            texts[start : start + len(text)] = text
        self.words[m.N_TYPES] = len(types)

    def _connect_cells(self, headers: int, vectors: int, cells: int, octets: int) -> None:
        """Let each header point to one vector, and that to one cell."""
        header, vector = self.rows(headers), self.rows(vectors)
        for number in range(m.BATCH):
            vector_at = number * m.VECTOR_WORDS
            vector[vector_at] = self.words[cells] + number * octets
            vector[vector_at + 1] = octets
            header_at = number * m.HEADER_WORDS
            header[header_at + m.H_VECTORS] = self.words[vectors] + vector_at * _WORD
            header[header_at + m.H_VECTOR_COUNT] = 1

    def _clear_slots(self, slots: int) -> None:
        table, free, deadlines = self.octets(m.TABLE), self.rows(m.FREE), self.rows(m.DEADLINES)
        table[:] = b"\xff" * len(table)
        for slot in range(slots):
            free[slot] = slots - 1 - slot
            self._slots[slot * m.SLOT_WORDS + m.Q_IDENT] = m.NOTHING
            deadlines[slot] = m.NEVER
        self.words[m.N_SLOTS] = self.words[m.N_FREE] = slots
        self.words[m.NEXT_DUE] = m.NEVER


def _count_places(slots: int) -> int:
    """A power of two, at least so many times the slots."""
    return 1 << (m.PLACES_PER_SLOT * slots - 1).bit_length()
