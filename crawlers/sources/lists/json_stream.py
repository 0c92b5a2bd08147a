"""Parse JSON as it streams in: an array, or values one after another.

A broken value is skipped and counted; ``is_whole`` is false where the end is cut off. Memory is
bounded by the largest value.
"""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from core.errors import BadInput

# Far more than any row of a certificate search or of a scanner has.
MAX_VALUE_CHARS = 4 * 1024 * 1024
# A stream with more broken values than this is not JSON.
MAX_BROKEN = 1_000
_GAP = re.compile(r"[\s,]*")
_OBJECT = re.compile(r"\{")
_ANY_VALUE = re.compile(r'[{"]')
_LONGEST_TOKEN = 12


class Broken(BadInput):
    """The stream is not JSON at all, or too much of it is broken."""


class JsonStream:
    """Gives the values of a top-level array, or values that follow each other, in order.

    ``line`` is the line behind the last value; ``broken`` counts what was stepped over.
    """

    def __init__(self) -> None:
        self.line = 1
        self.broken = 0
        self.values = 0
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._scan = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._state = "start"
        # After a failure, more text has to come before trying again pays.
        self._wait_for = 0

    @property
    def is_whole(self) -> bool:
        """Whether the stream may end here."""
        rest = self._text[self._at :].strip(" \t\r\n,")
        return self._state == "end" or (self._state == "values" and not rest)

    def feed(self, data: bytes, *, last: bool = False) -> Iterator[Any]:
        """Values that are whole by now; raises ``Broken``."""
        self._text = self._text[self._at :] + self._decoder.decode(data, last)
        self._at = 0
        if self._state == "start":
            self._read_start()
        if len(self._text) < self._wait_for and not last:
            return
        self._wait_for = 0
        while self._is_at_value():
            try:
                value, end = self._scan(self._text, self._at)
            except (ValueError, RecursionError) as error:
                if self._step_over(error, last):
                    continue
                return
            if end == len(self._text) and not isinstance(value, dict | list | str) and not last:
                return  # A number may continue in the next chunk.
            self._move(end)
            self.values += 1
            yield value

    def _read_start(self) -> None:
        start = len(self._text) - len(self._text.lstrip())
        first = self._text[start : start + 1]
        if first and first not in "[{":
            raise Broken("does not begin as JSON does")
        if first:
            self._move(start + (first == "["))
            self._state = "array" if first == "[" else "values"

    def _is_at_value(self) -> bool:
        """Step over what is between values, and see whether there is one more."""
        if self._state not in ("array", "values"):
            return False
        gap = _GAP.match(self._text, self._at)
        self._move(gap.end() if gap else self._at)
        if self._state == "array" and self._text.startswith("]", self._at):
            self._state = "end"
            return False
        return self._at < len(self._text)

    def _move(self, end: int) -> None:
        self.line += self._text.count("\n", self._at, end)
        self._at = end

    def _step_over(self, error: Exception, last: bool) -> bool:
        """Whether to continue at once: the value is broken, not just unfinished."""
        size = len(self._text)
        held = size - self._at
        if _is_incomplete(error, size) and held < MAX_VALUE_CHARS:
            # Half as much again, so that a long value is not read over and over.
            self._wait_for = held + held // 2 if not last else 0
            return False
        self.broken += 1
        if self.broken > MAX_BROKEN:
            raise Broken(f"more than {MAX_BROKEN:,} values are broken")
        # Inside a broken object every string looks like a value, so the next object is sought.
        sought = _OBJECT if self._text.startswith("{", self._at) else _ANY_VALUE
        failed_at = error.pos if isinstance(error, json.JSONDecodeError) else 0
        following = sought.search(self._text, max(self._at + 1, failed_at))
        self._move(following.start() if following else size)
        return True


def _is_incomplete(error: Exception, size: int) -> bool:
    """Whether more text could complete the value: the scanner stopped at the very end."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    # Literals and escapes that are cut in two are noticed where they begin.
    return error.msg.startswith("Unterminated string") or error.pos >= size - _LONGEST_TOKEN
