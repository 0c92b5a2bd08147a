"""Base of request bodies: unknown fields and other types are refused; domain lists in bodies."""

import json
from typing import Any

from ninja import Schema
from pydantic import ConfigDict


class Body(Schema):
    """Base of all request bodies."""

    model_config = ConfigDict(extra="forbid", strict=True)


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
