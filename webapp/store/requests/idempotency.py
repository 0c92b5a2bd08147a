"""A key that a client sends with a request makes its repetition safe, and nothing else."""

from core.errors import BadInput

MAX_KEY_CHARACTERS = 120


class KeyReused(BadInput):
    """The key was sent with another request before."""

    def __init__(self) -> None:
        super().__init__(
            "this Idempotency-Key was sent with another request before: use a new key for a new "
            "request"
        )


def check_key(key: str | None) -> None:
    """Raise ``BadInput`` for a key that cannot be stored."""
    if key and len(key) > MAX_KEY_CHARACTERS:
        raise BadInput(f"an idempotency key has at most {MAX_KEY_CHARACTERS} characters")
