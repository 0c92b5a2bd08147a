"""Base of request bodies: unknown fields and other types are refused; fields of several bodies.

Where a rule of the product refuses with a message that names the line and what to do, the field
has the keywords of the rule in its schema alone (:func:`schema`), and the product checks it.
"""

import json
from datetime import date
from typing import Annotated, Any

from ninja import Schema
from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from webapp.store.requests.texts import NAME_PATTERN, TEXT_PATTERN


class Body(Schema):
    """Base of all request bodies; 1.0 is an integer, as JSON Schema has it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _read_whole_numbers(cls, given: Any) -> Any:
        fields = getattr(given, "_obj", given)
        if not isinstance(fields, dict):
            return given
        return {name: _whole(value) for name, value in fields.items()}


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _require_text(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("write a date as text: 2027-06-30")
    return value


# A date as text; numbers are none.
DateText = Annotated[date, BeforeValidator(_require_text), Field(strict=False)]


def schema(**keywords: Any) -> Any:
    """Keywords of JSON Schema for what the product itself checks."""
    return Field(json_schema_extra=keywords)


def exactly_one(fields: dict[str, tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, Any]:
    """Keywords of an object that has one of some fields; each has its schemas when set and not.

    Written as conditions, since generators of clients read ``oneOf`` as a union of types.
    """
    (name, (given, _)), *others = fields.items()
    is_set = {"required": [name], "properties": {name: given}}
    if not others:
        return is_set
    unset = {other: absent for other, (_, absent) in others}
    rest = exactly_one(dict(others))
    return {"if": is_set, "then": {"properties": unset}, "else": rest}


# Two labels and the dot between them, as IDNA has dots (RFC 3490, 3.1).
_DOMAIN = "[^\\s.\u3002\uff0e\uff61][.\u3002\uff0e\uff61][^\\s.\u3002\uff0e\uff61]"
# A domain list: names, or the text of a list in any form that a survey takes.
Domains = (
    Annotated[list[str], schema(minItems=1, contains={"pattern": _DOMAIN})]
    | Annotated[str, schema(minLength=3, pattern=_DOMAIN)]
)
# The name of an object, and other text that is shown.
Name = Annotated[str, Field(min_length=1, max_length=200), schema(pattern=NAME_PATTERN)]
Text = Annotated[str, schema(pattern=TEXT_PATTERN)]
# An IANA time zone, such as Europe/Oslo.
TimeZone = Annotated[
    str, Field(max_length=64), schema(pattern="^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$")
]


def list_bytes(domains: list[str] | str) -> bytes:
    """The text of a list of domains, or of a file as it was given."""
    text = domains if isinstance(domains, str) else "\n".join(domains)
    return text.encode("utf-8", "surrogatepass")


def document_bytes(document: str | dict[str, Any] | None) -> bytes:
    """The text of a document that is sent as text or as JSON; empty without one."""
    if document is None:
        return b""
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")
