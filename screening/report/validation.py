"""Shapes of foreign JSON: one description checks a value and prints its JSON Schema.

Every shape has bounds; :meth:`check` raises BadInput with the path of the first thing wrong.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol

from core.errors import BadInput

# Text that a page may print and a database keep as it is: no angle brackets, quotes, ampersands,
# control signs or halves of signs.
PLAIN = r"^[^\x00-\x1f\x7f<>&\"'`\u2028-\u202e\u2066-\u2069\ud800-\udfff]*$"
# Names of machines: letters and digits of any script, and what host names are joined with.
NAME = r"^[\w .:@()+-]+$"
# The longest part of a foreign value that an error repeats.
SHOWN = 40


class Shape(Protocol):
    """Something that a JSON value can be checked against."""

    def check(self, value: Any, path: str) -> None:
        """Raise BadInput when the value does not fit."""

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the same."""


def refuse(path: str, problem: str, value: Any = None) -> BadInput:
    """The error for one value, with a short piece of it that is safe to print."""
    plain = re.sub(r"[^\w .:+-]", "?", str(value)[:SHOWN], flags=re.ASCII)
    shown = "" if value is None else f", not {plain}"
    return BadInput(problem + shown, field=path or "report")


@dataclass(frozen=True)
class Number:
    """A finite number between two bounds."""

    low: float
    high: float
    whole: bool = False

    def check(self, value: Any, path: str) -> None:
        """Raise BadInput for what is not a number, or out of bounds."""
        kinds = (int,) if self.whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise refuse(path, "a whole number" if self.whole else "a number", value)
        if not self.low <= value <= self.high:
            raise refuse(path, f"a number from {self.low:g} to {self.high:g}", value)

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the same."""
        kind = "integer" if self.whole else "number"
        return {"type": kind, "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def check(self, value: Any, path: str) -> None:
        """Raise BadInput for anything else."""
        if not isinstance(value, bool):
            raise refuse(path, "true or false", value)

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the same."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Text:
    """Text of bounded length that matches a pattern."""

    longest: int
    pattern: str = PLAIN

    def check(self, value: Any, path: str) -> None:
        """Raise BadInput for what is no text, too long, or holds forbidden signs."""
        if not isinstance(value, str):
            raise refuse(path, "text", value)
        if len(value) > self.longest:
            raise refuse(path, f"text of at most {self.longest} signs, not of {len(value)}")
        if not re.match(self.pattern, value) or value.endswith("\n"):
            raise refuse(path, "text without markup or other signs that it may not hold", value)

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the same."""
        return {"type": "string", "maxLength": self.longest, "pattern": self.pattern}


@dataclass(frozen=True)
class Rows:
    """A list of bounded length."""

    of: Shape
    most: int
    least: int = 0

    def check(self, value: Any, path: str) -> None:
        """Raise BadInput for what is no list, too long, or holds a wrong entry."""
        if not isinstance(value, list):
            raise refuse(path, "a list", value)
        if not self.least <= len(value) <= self.most:
            raise refuse(path, f"a list of {self.least} to {self.most} entries, not {len(value)}")
        if isinstance(self.of, Numbers) and self.of.fits_all(value):
            return
        for at, entry in enumerate(value):
            self.of.check(entry, f"{path}[{at}]")

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the same."""
        bounds = {"minItems": self.least, "maxItems": self.most}
        return {"type": "array", "items": self.of.schema(), **bounds}


@dataclass(frozen=True)
class Numbers:
    """A list of exactly ``length`` whole numbers, none negative: a histogram's slot, a stall."""

    length: int
    high: int

    def fits_all(self, rows: list[Any]) -> bool:
        """Whether all rows fit, at once: a report has thousands; :meth:`check` finds the wrong."""
        if not (set(map(type, rows)) <= {list} and set(map(len, rows)) <= {self.length}):
            return False
        flat = list(chain.from_iterable(rows))
        return set(map(type, flat)) <= {int} and (
            not flat or (min(flat) >= 0 and max(flat) <= self.high)
        )

    def check(self, value: Any, path: str) -> None:
        """Raise BadInput for anything else."""
        if not isinstance(value, list) or len(value) != self.length:
            raise refuse(path, f"a list of {self.length} whole numbers", value)
        for number in value:
            if type(number) is not int or not 0 <= number <= self.high:
                raise refuse(path, f"whole numbers from 0 to {self.high}", value)

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the same."""
        items = {"type": "integer", "minimum": 0, "maximum": self.high}
        return {
            "type": "array",
            "items": items,
            "minItems": self.length,
            "maxItems": self.length,
        }


@dataclass(frozen=True)
class Entries:
    """An object with known fields, some of them optional; others are refused."""

    required: Mapping[str, Shape]
    optional: Mapping[str, Shape] = field(default_factory=dict)

    def check(self, value: Any, path: str) -> None:
        """Raise BadInput for a missing, unknown or wrong field."""
        if not isinstance(value, dict):
            raise refuse(path, "an object", value)
        dot = f"{path}." if path else ""
        for name in self.required:
            if name not in value:
                raise refuse(dot + name, "is missing")
        for name, entry in value.items():
            shape = self.required.get(name) or self.optional.get(name)
            if shape is None:
                raise refuse(path, "a field that the schema does not have", name)
            shape.check(entry, dot + name)

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the same."""
        both = {**self.required, **self.optional}
        return {
            "type": "object",
            "additionalProperties": False,
            "required": list(self.required),
            "properties": {name: shape.schema() for name, shape in both.items()},
        }


@dataclass(frozen=True)
class Table:
    """An object with free plain keys and values of one shape."""

    of: Shape
    most: int

    def check(self, value: Any, path: str) -> None:
        """Raise BadInput for what is not an object, too large, or holds a wrong entry."""
        if not isinstance(value, dict) or len(value) > self.most:
            raise refuse(path, f"an object of at most {self.most} entries")
        for name, entry in value.items():
            Text(64).check(name, f"{path} key")
            self.of.check(entry, f"{path}.{name}")

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the same."""
        return {
            "type": "object",
            "additionalProperties": self.of.schema(),
            "maxProperties": self.most,
        }
