"""Bodies of requests: a field that is not known or of another type is refused, not passed over."""

from ninja import Schema
from pydantic import ConfigDict


class Body(Schema):
    """Base of every body."""

    model_config = ConfigDict(extra="forbid", strict=True)
