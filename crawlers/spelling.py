"""The spelling of names: text of any script in; letters, digits and hyphens, or a reason, out.

Lists of domains and host names of others share these rules; what a label may hold is theirs.
"""

import re

import idna

from core.errors import BadInput

MAX_NAME = 253
MAX_LABEL = 63
# How much of a refused text stands in the reason.
_SHOWN = 80


def to_ascii(host: str) -> str:
    """The ASCII form of an international name (UTS 46); raises ``BadInput`` where there is none."""
    if host.isascii():
        return host
    _check_length(host)
    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError) as error:
        raise BadInput(f"is not a valid international name: {str(error)[:_SHOWN]}") from error


def check_name(host: str, label: re.Pattern[str]) -> str:
    """The name itself where it is one, each label as the pattern has it; raises ``BadInput``."""
    if not host:
        raise BadInput("holds no name")
    _check_length(host)
    labels = host.split(".")
    if len(labels) < 2:
        raise BadInput("has no dot; write a whole domain such as example.com")
    for text in labels:
        if not label.fullmatch(text):
            raise BadInput(_explain(text))
    if labels[-1].isdigit():
        raise BadInput("ends in a number, which no top-level domain does")
    return host


def _check_length(host: str) -> None:
    if len(host) > MAX_NAME:
        raise BadInput(f"is {len(host)} characters long; a name has at most {MAX_NAME}")


def _explain(label: str) -> str:
    if not label:
        return "has an empty label (two dots in a row)"
    if len(label) > MAX_LABEL:
        return f"has a label of {len(label)} characters; a label has at most {MAX_LABEL}"
    if "*" in label:
        return "has a wildcard that is not its first label"
    return f"has the label {label[:MAX_LABEL]!r}, which is not letters, digits and hyphens"
