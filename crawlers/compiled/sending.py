"""Compiled sender: queries from the list of names, many datagrams in one system call."""

from typing import Any

import numpy as np

from core.jit import Imported, compile_bare
from crawlers.compiled.layout import (
    ADDRESS_WORDS,
    BATCH,
    C_FD,
    C_SERVER,
    CASE_MIXING,
    CASE_OCTETS,
    CHANNEL_WORDS,
    CHANNELS,
    D_BEGIN,
    D_END,
    D_TAG,
    D_TYPE,
    DEADLINES,
    DEFERRED,
    DEFERRED_WORDS,
    FREE,
    H_NAME,
    H_NAME_LENGTH,
    HEADER_WORDS,
    IN_FLIGHT,
    MOST_DEFERRED,
    N_DEFERRED,
    N_FREE,
    N_SERVERS,
    N_TYPES,
    NEXT_DUE,
    NEXT_SLOTS,
    NEXT_TAG,
    NOTHING,
    NOW,
    PLACE_STEP,
    Q_CHANNEL,
    Q_IDENT,
    Q_LENGTH,
    Q_SENT_AT,
    Q_SERVER,
    Q_TAG,
    Q_TYPE,
    Q_ZONE,
    QUERIES,
    QUERY_WORDS,
    QUESTION_CELL,
    QUESTIONS,
    RANDOM,
    RANDOM_AT,
    RANDOM_END,
    RECURSION,
    ROOM,
    S_ADDRESS,
    S_FIRST_CHANNEL,
    S_IN_FLIGHT,
    S_LIMIT,
    S_N_CHANNELS,
    S_PERMITS,
    S_SENT,
    S_TIMEOUT,
    S_TURN,
    SEND_CELL,
    SEND_CELLS,
    SEND_ERROR,
    SEND_HEADERS,
    SEND_VECTORS,
    SENT,
    SERVER_WORDS,
    SERVERS,
    SLOT_WORDS,
    SLOTS,
    TABLE,
    TAGS,
    TEXT,
    TEXT_AT,
    TEXT_END,
    TURN,
    TYPE_AT,
    TYPES,
    VECTOR_WORDS,
    W_SERVER,
    W_TAG,
    W_TYPE,
    W_ZONE,
)
from crawlers.compiled.names import encode_line
from crawlers.compiled.views import (
    view_cells,
    view_numbers,
    view_octet,
    view_octets,
    view_rows,
    view_words,
)

send_many: Any = Imported("crawlers.compiled.system_calls", "send_many")
errno_location: Any = Imported("crawlers.compiled.system_calls", "errno_location")
# Random octets of one query: some ids may be in use.
_OCTETS_PER_QUERY = 64 + CASE_OCTETS
_DONT_WAIT = 0x40
_EINTR, _EAGAIN, _NETUNREACH, _CONNREFUSED, _HOSTUNREACH = 4, 11, 101, 111, 113
_TRIES = 4
# Queries of one turn: little enough that a server's receive buffer is not overrun.
_BURST = 256
_HEADER, _NEWLINE, _IN = 12, 10, 1
_WORD = 8
# Name OPT, 1232 octets, no flags, no options (RFC 6891).
_EDNS = np.frombuffer(b"\0\0\x29\x04\xd0\0\0\0\0\0\0", np.uint8)


@compile_bare
def find_errno() -> Any:
    """Return the number of the last error of this thread."""
    return np.int64(view_octet(errno_location())[0])


@compile_bare
def mix_cases(words: Any, packet: Any, begin: Any, end: Any) -> Any:
    """Change letters to capitals at random ("0x20"), by bits of the random octets."""
    random = view_octets(words, RANDOM)
    for i in range(begin, end):
        octet = packet[i]
        bit = i - begin
        is_chosen = random[words[RANDOM_AT] + (bit >> 3)] >> (bit & 7) & 1
        # Length octets are below 64, so none is taken for a letter.
        if is_chosen and 97 <= octet <= 122:
            packet[i] = octet - 32
    words[RANDOM_AT] += CASE_OCTETS


@compile_bare
def find_place(words: Any, channel: Any, ident: Any) -> Any:
    """Return the number of the list of slots that an id of a channel belongs to."""
    # The number of lists is a power of two.
    return (ident + channel * PLACE_STEP) & (len(view_numbers(words, TABLE)) - 1)


@compile_bare
def find_slot(words: Any, channel: Any, ident: Any) -> Any:
    """Return the slot of an id of a channel, or ``NOTHING``."""
    slots, following = view_rows(words, SLOTS, SLOT_WORDS), view_numbers(words, NEXT_SLOTS)
    slot = np.int64(view_numbers(words, TABLE)[find_place(words, channel, ident)])
    while slot != NOTHING and (slots[slot, Q_IDENT] != ident or slots[slot, Q_CHANNEL] != channel):
        slot = np.int64(following[slot])
    return slot


@compile_bare
def link_slot(words: Any, slot: Any) -> Any:
    """Let a slot be found by the channel and id in its row."""
    row = view_rows(words, SLOTS, SLOT_WORDS)[slot]
    table, place = view_numbers(words, TABLE), find_place(words, row[Q_CHANNEL], row[Q_IDENT])
    view_numbers(words, NEXT_SLOTS)[slot] = table[place]
    table[place] = slot


@compile_bare
def unlink_slot(words: Any, slot: Any) -> Any:
    """Let a slot be found no longer; its row loses the id."""
    row, following = view_rows(words, SLOTS, SLOT_WORDS)[slot], view_numbers(words, NEXT_SLOTS)
    table, place = view_numbers(words, TABLE), find_place(words, row[Q_CHANNEL], row[Q_IDENT])
    row[Q_IDENT] = NOTHING
    at = np.int64(table[place])
    if at == slot:
        table[place] = following[slot]
        return
    while following[at] != slot:
        at = np.int64(following[at])
    following[at] = following[slot]


@compile_bare
def choose_ident(words: Any, channel: Any) -> Any:
    """Return an unpredictable id that no query of this channel uses, or ``NOTHING``."""
    random = view_octets(words, RANDOM)
    for _ in range(16):
        at = words[RANDOM_AT]
        words[RANDOM_AT] = at + 2
        ident = np.int64(random[at]) << 8 | np.int64(random[at + 1])
        if find_slot(words, channel, ident) == NOTHING:
            return ident
    return NOTHING


@compile_bare
def end_of_line(words: Any) -> Any:
    """Return the end of the name at the cursor."""
    text, at = view_octets(words, TEXT), words[TEXT_AT]
    while at < words[TEXT_END] and text[at] != _NEWLINE:
        at += 1
    return at


@compile_bare
def step_cursor(words: Any, line_end: Any) -> Any:
    """Move the cursor to the next type, or to the next name."""
    words[NEXT_TAG] += 1
    words[TYPE_AT] += 1
    if words[TYPE_AT] >= words[N_TYPES]:
        words[TYPE_AT] = 0
        words[TEXT_AT] = line_end + 1


@compile_bare
def find_tag(words: Any) -> Any:
    """Return the tag of the question at the cursor."""
    if words[QUERIES]:
        return view_rows(words, QUERIES, QUERY_WORDS)[words[NEXT_TAG], W_TAG]
    if words[TAGS]:
        return view_words(words, TAGS)[words[NEXT_TAG]]
    return words[NEXT_TAG]


@compile_bare
def find_type(words: Any) -> Any:
    """Return the index of the type of the question at the cursor."""
    if words[QUERIES]:
        return view_rows(words, QUERIES, QUERY_WORDS)[words[NEXT_TAG], W_TYPE]
    return words[TYPE_AT]


@compile_bare
def defer_question(words: Any, line_end: Any) -> Any:
    """Leave the question at the cursor to the reference engine."""
    row = view_rows(words, DEFERRED, DEFERRED_WORDS)[words[N_DEFERRED]]
    row[D_BEGIN], row[D_END] = words[TEXT_AT], line_end
    row[D_TAG], row[D_TYPE] = find_tag(words), find_type(words)
    words[N_DEFERRED] += 1
    step_cursor(words, line_end)


@compile_bare
def build_query(words: Any, packet: Any, channel: Any, slot: Any, line_end: Any) -> Any:
    """Build the query at the cursor for a slot; returns its octets, 0 if it cannot be sent."""
    text = view_octets(words, TEXT)
    end = encode_line(text, words[TEXT_AT], line_end, packet, _HEADER)
    if end < 0:
        return 0
    ident = choose_ident(words, channel)
    if ident < 0:
        return 0
    if words[CASE_MIXING]:
        mix_cases(words, packet, _HEADER, end)
    code = view_words(words, TYPES)[find_type(words)]
    packet[end], packet[end + 1] = code >> 8, code & 255
    packet[end + 2], packet[end + 3] = 0, _IN
    end += 4
    for i in range(2, _HEADER):
        packet[i] = 0
    packet[0], packet[1] = ident >> 8, ident & 255
    # RD; one question, and one additional record.
    packet[2], packet[5], packet[11] = words[RECURSION], 1, 1
    row, question = (
        view_rows(words, SLOTS, SLOT_WORDS)[slot],
        view_cells(words, QUESTIONS, QUESTION_CELL)[slot],
    )
    row[Q_TAG], row[Q_TYPE], row[Q_CHANNEL] = find_tag(words), find_type(words), channel
    row[Q_SERVER] = view_rows(words, CHANNELS, CHANNEL_WORDS)[channel, C_SERVER]
    row[Q_IDENT], row[Q_LENGTH] = ident, end - _HEADER
    for i in range(end - _HEADER):
        question[i] = packet[_HEADER + i]
    for i in range(len(_EDNS)):
        packet[end + i] = _EDNS[i]
    return end + len(_EDNS)


@compile_bare
def transmit(words: Any, channel: Any, n: Any) -> Any:
    """Send the first ``n`` datagrams of the batch; returns how many the kernel took."""
    fd = np.int32(view_rows(words, CHANNELS, CHANNEL_WORDS)[channel, C_FD])
    for _ in range(_TRIES):
        done = send_many(fd, words[SEND_HEADERS], np.uint32(n), np.int32(_DONT_WAIT))
        if done >= 0:
            return np.int64(done)
        error = find_errno()
        # Errors of an earlier packet are reported at the next call.
        if error not in (_EINTR, _CONNREFUSED, _HOSTUNREACH, _NETUNREACH):
            break
    if error != _EAGAIN:
        words[SEND_ERROR] = error
    return 0


@compile_bare
def address_query(words: Any, slot: Any, place: Any) -> Any:
    """Address the datagram at a place of the batch to the server of the query at the cursor."""
    query = view_rows(words, QUERIES, QUERY_WORDS)[words[NEXT_TAG]]
    row = view_rows(words, SLOTS, SLOT_WORDS)[slot]
    row[Q_SERVER], row[Q_ZONE] = query[W_SERVER], query[W_ZONE]
    header = view_rows(words, SEND_HEADERS, HEADER_WORDS)[place]
    column = query[W_SERVER] * SERVER_WORDS + S_ADDRESS
    header[H_NAME] = words[SERVERS] + column * _WORD
    header[H_NAME_LENGTH] = ADDRESS_WORDS * _WORD


@compile_bare
def build_batch(words: Any, channel: Any, wanted: Any) -> Any:
    """Build at most ``wanted`` queries from the list, in the slots that are free next.

    The slot keeps the previous cursor, in case the kernel does not take the query.
    """
    cells, free = view_cells(words, SEND_CELLS, SEND_CELL), view_words(words, FREE)
    slots, vectors = (
        view_rows(words, SLOTS, SLOT_WORDS),
        view_rows(words, SEND_VECTORS, VECTOR_WORDS),
    )
    built = 0
    while built < wanted and words[TEXT_AT] < words[TEXT_END] and words[N_DEFERRED] < MOST_DEFERRED:
        line_end = end_of_line(words)
        slot = free[words[N_FREE] - 1 - built]
        size = build_query(words, cells[built], channel, slot, line_end)
        if size == 0:
            if built:
                # It would be noted before those that may have to go back to the list.
                break
            defer_question(words, line_end)
            continue
        slots[slot, Q_SENT_AT] = words[TEXT_AT]
        link_slot(words, slot)
        vectors[built, 1] = size
        if words[QUERIES]:
            address_query(words, slot, built)
        built += 1
        step_cursor(words, line_end)
    return built


@compile_bare
def cancel_rest(words: Any, taken: Any, built: Any) -> Any:
    """Return the cursor to the first query that the kernel did not take."""
    slots, free = view_rows(words, SLOTS, SLOT_WORDS), view_words(words, FREE)
    first = free[words[N_FREE] - 1 - taken]
    words[TEXT_AT] = slots[first, Q_SENT_AT]
    words[TYPE_AT] = 0 if words[QUERIES] else slots[first, Q_TYPE]
    words[NEXT_TAG] -= built - taken
    for i in range(taken, built):
        unlink_slot(words, free[words[N_FREE] - 1 - i])


@compile_bare
def send_batch(words: Any, server: Any, channel: Any, wanted: Any) -> Any:
    """Send at most ``wanted`` queries by one channel; returns how many went."""
    slots, free = view_rows(words, SLOTS, SLOT_WORDS), view_words(words, FREE)
    built = build_batch(words, channel, wanted)
    taken = transmit(words, channel, built) if built else 0
    if taken < built:
        cancel_rest(words, taken, built)
    servers = view_rows(words, SERVERS, SERVER_WORDS)
    for i in range(taken):
        slot = free[words[N_FREE] - 1 - i]
        slots[slot, Q_SENT_AT] = words[NOW]
        own = servers[slots[slot, Q_SERVER]]
        deadline = words[NOW] + own[S_TIMEOUT]
        own[S_IN_FLIGHT] += 1
        view_words(words, DEADLINES)[slot] = deadline
        words[NEXT_DUE] = min(words[NEXT_DUE], deadline)
    words[N_FREE] -= taken
    words[IN_FLIGHT] += taken
    words[SENT] += taken
    server[S_SENT] += taken
    server[S_PERMITS] -= taken
    return taken


@compile_bare
def count_permitted(words: Any, server: Any) -> Any:
    """Return how many queries may go to a server in one batch now."""
    wanted = min(BATCH, server[S_LIMIT] - server[S_IN_FLIGHT], server[S_PERMITS])
    octets = (words[RANDOM_END] - words[RANDOM_AT]) // _OCTETS_PER_QUERY
    return min(wanted, words[ROOM] - words[IN_FLIGHT], words[N_FREE], octets)


@compile_bare
def send_all(words: Any) -> Any:
    """Send to the servers in turn what their limits allow, at most a burst; returns how many."""
    servers = view_rows(words, SERVERS, SERVER_WORDS)
    sent, idle = 0, 0
    while sent < _BURST and idle < words[N_SERVERS] and words[TEXT_AT] < words[TEXT_END]:
        words[TURN] = (words[TURN] + 1) % words[N_SERVERS]
        server = servers[words[TURN]]
        wanted = count_permitted(words, server)
        idle += 1
        if wanted <= 0 or words[SEND_ERROR] or words[N_DEFERRED] >= MOST_DEFERRED:
            continue
        server[S_TURN] = (server[S_TURN] + 1) % server[S_N_CHANNELS]
        done = send_batch(words, server, server[S_FIRST_CHANNEL] + server[S_TURN], wanted)
        sent += done
        if done:
            idle = 0
    return sent
