"""The rule of names and other short texts that requests give."""

import re
import secrets

from django.utils.text import slugify

# Control characters, line and paragraph separators, marks that reverse the direction of the text
# behind them (Unicode UTS 39), and what XML cannot hold; a class of a regular expression as JSON
# Schema, Python and Rust write it.
_FORBIDDEN = r"\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff"
# Schemas: a text of other characters, and one that is not blank.
TEXT_PATTERN = f"^[^{_FORBIDDEN}]*$"
NAME_PATTERN = rf"^[^{_FORBIDDEN}]*[^\s{_FORBIDDEN}][^{_FORBIDDEN}]*$"
# A text with at least one character that is shown.
VISIBLE_PATTERN = rf"[^\s{_FORBIDDEN}]"
# Surrogates are no characters, and no pattern of a schema can hold them.
_UNPRINTABLE = re.compile(rf"[{_FORBIDDEN}\ud800-\udfff]")


def is_printable(text: str) -> bool:
    """Whether a text may be stored and shown; letters and symbols of any Unicode version may."""
    return _UNPRINTABLE.search(text) is None


def replace_unprintable(text: str, by: str) -> str:
    """The text with another character instead of each that may not be shown."""
    return _UNPRINTABLE.sub(by, text)


def slug_of(name: str, otherwise: str) -> str:
    """Return a name in addresses that cannot be guessed; ``otherwise`` for one without letters."""
    return f"{slugify(name)[:80] or otherwise}-{secrets.token_hex(5)}"
