"""The compiled loop of a bulk run: send, receive, match, write lines, notice silence.

``step`` is called with the address of the words of ``layout`` and returns when Python has something
to do, or after a short while.
"""

from typing import Any

import numpy as np

from core.jit import Imported, compile_bare
from crawlers.compiled.layout import (
    ADDRESS_WORDS,
    BATCH,
    C_FD,
    CHAIN,
    CHAIN_WORDS,
    CHANNEL_WORDS,
    CHANNELS,
    COUNT_WORDS,
    COUNTS,
    DEADLINES,
    EPOCH,
    EXPIRED,
    FREE,
    FULL_OUT,
    FULL_RECORDS,
    H_RECEIVED,
    HAS_LINES,
    HEADER_WORDS,
    IN_FLIGHT,
    LAST_LENGTH,
    LAST_QUESTION,
    LAST_TAG,
    MOST_RESULTS,
    MOST_UNUSUAL,
    N_CHANNELS,
    N_COUNTED,
    N_DEFERRED,
    N_EXPIRED,
    N_FREE,
    N_POLLED,
    N_RECORDS,
    N_RESULTS,
    N_SLOTS,
    N_UNUSUAL,
    NAP,
    NEVER,
    NEXT_DUE,
    NOERROR,
    NOTHING,
    NOW,
    OUT,
    OUT_AT,
    POLLED,
    Q_LENGTH,
    Q_SENT_AT,
    Q_SERVER,
    Q_TAG,
    Q_TYPE,
    Q_ZONE,
    QUERIES,
    QUESTION_CELL,
    QUESTIONS,
    R_ANSWERS,
    R_AT,
    R_AUTHORITIES,
    R_FIRST,
    R_NAME,
    R_NAME_END,
    R_RTT,
    R_SERVER,
    R_STATUS,
    R_TAG,
    R_TYPE,
    RECEIVE_CELL,
    RECEIVE_CELLS,
    RECEIVE_HEADERS,
    RECORD_WORDS,
    RECORDS,
    RESULT_WORDS,
    RESULTS,
    S_ADDRESS,
    S_ANSWERED,
    S_IN_FLIGHT,
    S_RTT,
    S_TEXT_LENGTH,
    SEND_ERROR,
    SERVER_TEXT,
    SERVER_TEXTS,
    SERVER_WORDS,
    SERVERS,
    SLOT_WORDS,
    SLOTS,
    SOURCES,
    STEP_UNTIL,
    TIME_TEXT,
    TIMESPEC,
    TYPE_TEXT,
    TYPE_TEXTS,
    TYPES,
    U_AT,
    U_CHANNEL,
    U_SIZE,
    U_SLOT,
    U_SOURCE,
    UNUSUAL,
    UNUSUAL_BATCH,
    UNUSUAL_PACKETS,
    UNUSUAL_WORDS,
    WAIT_UNTIL,
)
from crawlers.compiled.records import read_two
from crawlers.compiled.replies import NOERROR as HAS_ANSWERS
from crawlers.compiled.replies import classify, is_authoritative, write_end, write_reply
from crawlers.compiled.sending import find_slot, send_all, unlink_slot
from crawlers.compiled.text import write_time
from crawlers.compiled.views import (
    view_cells,
    view_head,
    view_octets,
    view_rows,
    view_words,
)

receive_many: Any = Imported("crawlers.compiled.system_calls", "receive_many")
poll_until: Any = Imported("crawlers.compiled.system_calls", "poll_until")
read_clock: Any = Imported("crawlers.compiled.system_calls", "read_clock")
nap: Any = Imported("crawlers.compiled.system_calls", "nap")
_MONOTONIC, _DONT_WAIT = 1, 0x40
_HEADER, _LOWER_HALF = 12, 0xFFFFFFFF
_US_PER_S, _NS_PER_US = 1_000_000, 1_000
# Below this many queries in flight replies are read, and left to Python, as they come.
_FEW_IN_FLIGHT = 128
# Deadlines are looked at together, since that means to look at all slots.
_EXPIRY_US = 2_000


@compile_bare
def read_time(words: Any) -> Any:
    """Note and return the time."""
    read_clock(np.int32(_MONOTONIC), words[TIMESPEC])
    timespec = view_words(words, TIMESPEC)
    words[NOW] = timespec[0] * _US_PER_S + timespec[1] // _NS_PER_US
    return words[NOW]


@compile_bare
def set_timespec(words: Any, us: Any) -> Any:
    """Write a duration for the kernel; returns its address."""
    timespec = view_words(words, TIMESPEC)
    timespec[0], timespec[1] = us // _US_PER_S, us % _US_PER_S * _NS_PER_US
    return words[TIMESPEC]


@compile_bare
def release_slot(words: Any, slot: Any) -> Any:
    """Free a slot and its id."""
    slots = view_rows(words, SLOTS, SLOT_WORDS)
    unlink_slot(words, slot)
    view_words(words, DEADLINES)[slot] = NEVER
    view_words(words, FREE)[words[N_FREE]] = slot
    words[N_FREE] += 1
    words[IN_FLIGHT] -= 1
    view_rows(words, SERVERS, SERVER_WORDS)[slots[slot, Q_SERVER], S_IN_FLIGHT] -= 1


@compile_bare
def has_question(words: Any, packet: Any, size: Any, slot: Any) -> Any:
    """Whether a packet holds the question of a slot, octet for octet."""
    length = view_rows(words, SLOTS, SLOT_WORDS)[slot, Q_LENGTH]
    if size < _HEADER + length:
        return False
    question = view_cells(words, QUESTIONS, QUESTION_CELL)[slot]
    for i in range(length):  # noqa: SIM110 -- loops are what the compiler knows
        if packet[np.uintp(_HEADER + i)] != question[np.uintp(i)]:
            return False
    return True


@compile_bare
def note_denial(words: Any, tag: Any, status: Any) -> Any:
    """Count a denial by its tag; one of a tag that has no count becomes a result of its own."""
    if tag < words[N_COUNTED]:
        view_rows(words, COUNTS, COUNT_WORDS)[tag, status] += 1
        return
    result = view_rows(words, RESULTS, RESULT_WORDS)[words[N_RESULTS]]
    result[R_TAG], result[R_STATUS] = tag, status
    words[N_RESULTS] += 1


@compile_bare
def end_line(words: Any, packet: Any, put: Any, status: Any, slot: Any, number: Any) -> Any:
    """Write the end of a line, with the server of this number; the line becomes a result."""
    length = view_rows(words, SERVERS, SERVER_WORDS)[number, S_TEXT_LENGTH]
    row, name = view_rows(words, SLOTS, SLOT_WORDS)[slot], view_rows(words, CHAIN, CHAIN_WORDS)[0]
    rtt_us = words[NOW] - row[Q_SENT_AT]
    if words[HAS_LINES]:
        out, text = view_octets(words, OUT), view_cells(words, SERVER_TEXTS, SERVER_TEXT)[number]
        put = write_end(out, put, text, length, rtt_us, view_octets(words, TIME_TEXT))
    words[OUT_AT] = put
    result = view_rows(words, RESULTS, RESULT_WORDS)[words[N_RESULTS]]
    result[R_TAG], result[R_AT] = row[Q_TAG], words[EPOCH] + words[NOW]
    result[R_STATUS], result[R_TYPE] = status, row[Q_TYPE]
    result[R_SERVER], result[R_RTT] = number, rtt_us
    result[R_ANSWERS] = read_two(packet, 6) if status == HAS_ANSWERS else 0
    result[R_AUTHORITIES] = read_two(packet, 8)
    result[R_NAME], result[R_NAME_END] = name[0], name[1]
    result[R_FIRST] = words[N_RECORDS]
    words[N_RECORDS] += result[R_ANSWERS] + result[R_AUTHORITIES]
    words[N_RESULTS] += 1


@compile_bare
def accept(words: Any, packet: Any, size: Any, slot: Any) -> Any:
    """Write the line of a reply that belongs to a slot, or count it; whether it was understood.

    Where denials are counted, answers are left to the reference engine.
    """
    status = classify(packet, size)
    row, out = view_rows(words, SLOTS, SLOT_WORDS)[slot], view_octets(words, OUT)
    is_left = status < 0 or (words[COUNTS] and status == HAS_ANSWERS)
    if words[QUERIES]:
        is_left |= row[Q_ZONE] == NOTHING
    if is_left or not has_question(words, packet, size, slot):
        return False
    question_end, kind = _HEADER + row[Q_LENGTH], row[Q_TYPE]
    chain = view_rows(words, CHAIN, CHAIN_WORDS)
    records = view_rows(words, RECORDS, RECORD_WORDS)
    put = write_reply(
        packet,
        size,
        question_end,
        status,
        view_words(words, TYPES)[kind],
        view_cells(words, TYPE_TEXTS, TYPE_TEXT)[kind],
        chain,
        out,
        words[OUT_AT],
        words[HAS_LINES],
        records,
        words[N_RECORDS],
    )
    if put < 0 or (
        words[QUERIES]
        and not is_authoritative(packet, status, out, chain, records, words[N_RECORDS], row[Q_ZONE])
    ):
        return False
    number = row[Q_SERVER]
    server = view_rows(words, SERVERS, SERVER_WORDS)[number]
    rtt_us = words[NOW] - row[Q_SENT_AT]
    if words[COUNTS]:
        note_denial(words, row[Q_TAG], status)
    else:
        end_line(words, packet, put, status, slot, number)
    words[NOERROR + status] += 1
    server[S_ANSWERED] += 1
    server[S_RTT] = rtt_us
    last, question = view_octets(words, LAST_QUESTION), view_cells(words, QUESTIONS, QUESTION_CELL)
    words[LAST_LENGTH], words[LAST_TAG] = row[Q_LENGTH], row[Q_TAG]
    for i in range(row[Q_LENGTH]):
        last[i] = question[slot, i]
    release_slot(words, slot)
    return True


@compile_bare
def leave(words: Any, packet: Any, size: Any, channel: Any, slot: Any, source: Any) -> Any:
    """Keep a packet for the reference engine; ``slot`` is ``NOTHING`` where its id is unknown."""
    n = words[N_UNUSUAL]
    row, kept = (
        view_rows(words, UNUSUAL, UNUSUAL_WORDS)[n],
        view_cells(words, UNUSUAL_PACKETS, RECEIVE_CELL),
    )
    row[U_CHANNEL], row[U_SLOT], row[U_SIZE], row[U_AT] = channel, slot, size, words[NOW]
    row[U_SOURCE] = source
    for i in range(size):
        kept[n, i] = packet[i]
    words[N_UNUSUAL] = n + 1


@compile_bare
def read_batch(words: Any, channel: Any, n: Any) -> Any:
    """Match the packets of one system call to slots."""
    cells, headers = (
        view_cells(words, RECEIVE_CELLS, RECEIVE_CELL),
        view_rows(words, RECEIVE_HEADERS, HEADER_WORDS),
    )
    sources = view_rows(words, SOURCES, ADDRESS_WORDS)
    slots, servers = (
        view_rows(words, SLOTS, SLOT_WORDS),
        view_rows(words, SERVERS, SERVER_WORDS),
    )
    write_time(view_octets(words, TIME_TEXT), 0, words[EPOCH] + words[NOW])
    for i in range(n):
        packet, size = cells[i], min(headers[i, H_RECEIVED] & _LOWER_HALF, RECEIVE_CELL)
        slot: Any = NOTHING
        if size >= _HEADER:
            slot = find_slot(words, channel, read_two(packet, 0))
        source: Any = 0
        if words[QUERIES]:
            source = sources[i, 0]
            # The socket is shared by all servers: another server's id is none of this query.
            if slot != NOTHING and source != servers[slots[slot, Q_SERVER], S_ADDRESS]:
                slot = NOTHING
        if slot == NOTHING or not accept(words, packet, size, slot):
            leave(words, packet, size, channel, slot, source)


@compile_bare
def has_capacity(words: Any) -> Any:
    """Whether the results of one more batch can be kept."""
    return (
        words[OUT_AT] <= FULL_OUT
        and (words[HAS_LINES] or words[N_RECORDS] <= FULL_RECORDS)
        and words[N_RESULTS] + BATCH <= MOST_RESULTS
        and words[N_UNUSUAL] + BATCH <= MOST_UNUSUAL
    )


@compile_bare
def receive_all(words: Any) -> Any:
    """Read what waits at the sockets that the last poll named; returns how many packets."""
    polled, channels = view_words(words, POLLED), view_rows(words, CHANNELS, CHANNEL_WORDS)
    received = 0
    for channel in range(words[N_CHANNELS]):
        # struct pollfd: the events that came are its upper 16 bits.
        is_ready = polled[channel] >> 48 != 0
        while is_ready and has_capacity(words):
            n = receive_many(
                np.int32(channels[channel, C_FD]),
                words[RECEIVE_HEADERS],
                np.uint32(BATCH),
                np.int32(_DONT_WAIT),
                0,
            )
            read_time(words)
            if n > 0:
                read_batch(words, channel, n)
                received += n
            is_ready = n == BATCH
    return received


@compile_bare
def expire(words: Any) -> Any:
    """List the slots after their deadline, and find the next deadline to look at."""
    deadlines, expired = view_words(words, DEADLINES), view_words(words, EXPIRED)
    now, next_due, n = words[NOW], NEVER, words[N_EXPIRED]
    for slot in range(words[N_SLOTS]):
        if deadlines[slot] <= now:
            expired[n] = slot
            n += 1
            deadlines[slot] = NEVER
        elif deadlines[slot] < next_due:
            next_due = deadlines[slot]
    words[N_EXPIRED] = n
    words[NEXT_DUE] = max(next_due, now + _EXPIRY_US)


@compile_bare
def poll_sockets(words: Any, until: Any) -> Any:
    """Wait for replies until a time at most; returns the number of sockets that have some."""
    us = max(0, min(until, words[NEXT_DUE]) - words[NOW])
    return poll_until(words[POLLED], words[N_POLLED], set_timespec(words, us), 0)


@compile_bare
def is_due(words: Any) -> Any:
    """Whether Python has something to do."""
    most = UNUSUAL_BATCH if words[IN_FLIGHT] >= _FEW_IN_FLIGHT else 1
    return (
        words[N_UNUSUAL] >= most
        or words[N_EXPIRED] > 0
        or words[N_DEFERRED] > 0
        or words[SEND_ERROR] > 0
        or words[NOW] >= words[STEP_UNTIL]
        or not has_capacity(words)
    )


@compile_bare
def step(address: Any) -> Any:
    """Send, receive and notice silence until Python has something to do; returns replies read."""
    words = view_head(address)
    read_time(words)
    total = 0
    while True:
        sent = send_all(words)
        if words[NAP] and words[IN_FLIGHT] >= _FEW_IN_FLIGHT:
            nap(set_timespec(words, words[NAP]), 0)
        until = min(words[WAIT_UNTIL], words[STEP_UNTIL]) if total else words[WAIT_UNTIL]
        ready = poll_sockets(words, words[NOW] if sent else until)
        received = receive_all(words) if ready > 0 else 0
        total += received
        if read_time(words) >= words[NEXT_DUE]:
            expire(words)
        if is_due(words) or not (sent or received):
            return total
