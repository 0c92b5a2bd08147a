"""Base of request bodies: unknown fields and other types are refused; domain lists in bodies."""

import json
from datetime import date
from typing import Annotated, Any

from ninja import Schema
from pydantic import BeforeValidator, ConfigDict, Field, model_validator


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
