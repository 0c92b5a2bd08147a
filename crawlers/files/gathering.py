"""Compiled writer of columns: from results of the bulk loop to the buffers of Arrow arrays.

``gather`` is called with the address of words as in ``crawlers.compiled.layout``: numbers first,
then addresses and lengths of regions.
"""

from typing import Any

import numpy as np

from core.jit import compile_bare
from crawlers.compiled.layout import (
    A_DATA,
    A_DATA_END,
    A_LOWER,
    A_NAME,
    A_NAME_END,
    A_TTL,
    A_TYPE,
    A_UPPER,
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
    RECORD_WORDS,
    RESULT_WORDS,
)
from crawlers.compiled.text import write_part
from crawlers.compiled.views import (
    view_array,
    view_head,
    view_numbers,
    view_octets,
    view_rows,
    view_words,
)

# Words: numbers.
(
    N_ROWS,  # results to write, behind
    N_WRITTEN,  # those that were written before
    TYPES_PER_NAME,
    N_IPV4,  # addresses written
    N_IPV6,
    N_OCTETS,  # of names written
) = range(6)
# Numbers of a section: records written, octets of their names, octets of their data.
ANSWERS, AUTHORITIES = 8, 12
N_RECORDS, NAME_END, DATA_END = range(3)
# Words: regions. Results are in steps of the loop; PLACES has the step and row of each.
(
    STEPS,
    PLACES,
    NAME_IDS,
    NAME_OFFSETS,
    NAME_OCTETS,
    TYPES,
    STATUSES,
    SERVERS,
    RTTS,
    TIMES,
    IPV4_OFFSETS,
    IPV4_VALUES,
    IPV6_OFFSETS,
    IPV6_OCTETS,
) = range(40, 54)
ANSWER_REGIONS, AUTHORITY_REGIONS = 56, 64
# Regions of a section, added to the first of them.
(
    LIST_OFFSETS,
    RECORD_NAME_OFFSETS,
    RECORD_NAMES,
    RECORD_TYPES,
    RECORD_TTLS,
    RECORD_DATA_OFFSETS,
    RECORD_DATA,
) = range(7)
# Columns of STEPS: address and length of the text, address and number of rows and of records.
_S_TEXT, _S_OCTETS, _S_ROWS, _S_N_ROWS, _S_RECORDS, _S_N_RECORDS = range(6)
STEP_WORDS = 6
_P_STEP, _P_ROW = range(2)
PLACE_WORDS = 2
ADDRESS_OCTETS = 16
_TYPE_A, _TYPE_TXT, _TYPE_AAAA = 1, 16, 28
_BACKSLASH = 92


@compile_bare
def write_unescaped(out: Any, put: Any, source: Any, begin: Any, end: Any) -> Any:
    """Copy data without its escapes, which are those of quotation marks around strings."""
    for i in range(begin, end):
        if source[i] != _BACKSLASH:
            out[put] = source[i]
            put += 1
    return put


@compile_bare
def copy_record(words: Any, regions: Any, numbers: Any, text: Any, record: Any) -> Any:
    """Write one record of a section."""
    n = words[numbers + N_RECORDS]
    names, data = (
        view_octets(words, regions + RECORD_NAMES),
        view_octets(words, regions + RECORD_DATA),
    )
    put = words[numbers + NAME_END]
    put = write_part(names, put, text, record[A_NAME], record[A_NAME_END])
    words[numbers + NAME_END] = put
    view_numbers(words, regions + RECORD_NAME_OFFSETS)[n + 1] = put
    put, end = words[numbers + DATA_END], record[A_DATA_END]
    if record[A_TYPE] == _TYPE_TXT:
        put = write_unescaped(data, put, text, record[A_DATA], end)
    else:
        put = write_part(data, put, text, record[A_DATA], end)
    words[numbers + DATA_END] = put
    view_numbers(words, regions + RECORD_DATA_OFFSETS)[n + 1] = put
    view_numbers(words, regions + RECORD_TYPES)[n] = record[A_TYPE]
    view_words(words, regions + RECORD_TTLS)[n] = record[A_TTL]
    words[numbers + N_RECORDS] = n + 1


@compile_bare
def copy_address(words: Any, record: Any) -> Any:
    """Write the address of a record of the type A or AAAA as numbers or octets."""
    if record[A_TYPE] == _TYPE_A:
        view_numbers(words, IPV4_VALUES)[words[N_IPV4]] = record[A_LOWER]
        words[N_IPV4] += 1
    elif record[A_TYPE] == _TYPE_AAAA:
        octets, first = view_octets(words, IPV6_OCTETS), ADDRESS_OCTETS * words[N_IPV6]
        for i in range(8):
            octets[first + i] = record[A_UPPER] >> (56 - 8 * i) & 255
            octets[first + 8 + i] = record[A_LOWER] >> (56 - 8 * i) & 255
        words[N_IPV6] += 1


@compile_bare
def copy_row(words: Any, i: Any, row: Any, text: Any) -> Any:
    """Write what a result has once."""
    view_words(words, NAME_IDS)[i] = row[R_TAG] // words[TYPES_PER_NAME]
    octets = view_octets(words, NAME_OCTETS)
    words[N_OCTETS] = write_part(octets, words[N_OCTETS], text, row[R_NAME], row[R_NAME_END])
    view_numbers(words, NAME_OFFSETS)[i + 1] = words[N_OCTETS]
    view_numbers(words, TYPES)[i] = row[R_TYPE]
    view_numbers(words, STATUSES)[i] = row[R_STATUS]
    view_numbers(words, SERVERS)[i] = row[R_SERVER]
    view_words(words, RTTS)[i], view_words(words, TIMES)[i] = row[R_RTT], row[R_AT]


@compile_bare
def gather(address: Any) -> Any:
    """Write all columns; returns the number of results."""
    words = view_head(address)
    steps, places = view_rows(words, STEPS, STEP_WORDS), view_rows(words, PLACES, PLACE_WORDS)
    for number in range(words[N_ROWS]):
        step, i = steps[places[number, _P_STEP]], words[N_WRITTEN] + number
        text = view_array(step[_S_TEXT], (step[_S_OCTETS],), np.uint8)
        rows = view_array(step[_S_ROWS], (step[_S_N_ROWS], RESULT_WORDS), np.int64)
        records = view_array(step[_S_RECORDS], (step[_S_N_RECORDS], RECORD_WORDS), np.int64)
        row = rows[places[number, _P_ROW]]
        at = row[R_FIRST]
        copy_row(words, i, row, text)
        for j in range(at, at + row[R_ANSWERS]):
            copy_record(words, ANSWER_REGIONS, ANSWERS, text, records[j])
            copy_address(words, records[j])
        at += row[R_ANSWERS]
        for j in range(at, at + row[R_AUTHORITIES]):
            copy_record(words, AUTHORITY_REGIONS, AUTHORITIES, text, records[j])
        view_numbers(words, ANSWER_REGIONS + LIST_OFFSETS)[i + 1] = words[ANSWERS]
        view_numbers(words, AUTHORITY_REGIONS + LIST_OFFSETS)[i + 1] = words[AUTHORITIES]
        view_numbers(words, IPV4_OFFSETS)[i + 1] = words[N_IPV4]
        view_numbers(words, IPV6_OFFSETS)[i + 1] = words[N_IPV6]
    words[N_WRITTEN] += words[N_ROWS]
    return words[N_ROWS]
