"""One root exception; each kind determines how the caller reacts."""


class NephoscopeError(Exception):
    """Root of every error that the product raises on purpose.

    ``permanent`` means that trying again with the same input cannot help.
    """

    permanent = True


class BadInput(NephoscopeError):
    """Input that a person can correct: the message names the line or field and what to do."""

    def __init__(self, message: str, *, line: int | None = None, field: str | None = None) -> None:
        self.line = line
        self.field = field
        # The message without the field, for pages that show it beside the field.
        self.text = message if line is None else f"line {line}: {message}"
        super().__init__(f"{field}: {message}" if field and line is None else self.text)


class Conflict(BadInput):
    """Input that the present state does not allow: a limit of objects is reached, or the same is
    stored already; the message states what to do.
    """


class Forbidden(NephoscopeError):
    """An action that the role of the user does not permit; the message names the role it takes."""


class MissingData(NephoscopeError):
    """Something that has to be imported or run first; the message names the command."""


class Unavailable(NephoscopeError):
    """A server or file that may answer later."""

    permanent = False


class Damaged(NephoscopeError):
    """A stored file with contents other than those written; the message names it."""


def reason_of(error: object) -> str:
    """What was wrong, in the system's words without its number."""
    stated: str | None = getattr(error, "strerror", None)
    return stated or str(error)


_DAMAGED = ("malformed", "not a database")


def store_error(error: Exception) -> str:
    """The message for a database that refuses; where it is damaged, also what to do."""
    text = f"the store cannot be used: {error}"
    if any(word in text for word in _DAMAGED):
        text += "; docs/how-to/back-up-and-upgrade.md tells how to restore a backup"
    return text
