"""Base of request bodies: unknown fields and other types are refused."""

from ninja import Schema
from pydantic import ConfigDict


class Body(Schema):
    """Base of all request bodies."""

    model_config = ConfigDict(extra="forbid", strict=True)
