"""Normalise host names from lists, certificates and zone files; raise with a reason otherwise.

Underscores are allowed, since such names exist.
"""

import re
from ipaddress import ip_address

from core.errors import BadInput
from crawlers.dns.idna import MAX_NAME, check_name, to_ascii

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PORT = re.compile(r":\d*$")
# A name that needs no cleaning; possessive, so that hostile text costs what its length does.
_PLAIN = re.compile(
    rb"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)++"
    rb"(?=[a-z0-9_-]*[a-z_])[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
)


def is_plain(name: bytes) -> bool:
    """Whether a name can be queried without any change."""
    return len(name) <= MAX_NAME and _PLAIN.fullmatch(name) is not None


def clean_host(text: str) -> str:
    """A name in lower-case ASCII; raises ``BadInput`` with the reason where there is none.

    Takes off a URL's scheme, user, port and path, a leading ``*.`` and the final dot; turns
    international names into their ASCII form (UTS 46).
    """
    text = text.strip()
    # Most of millions of names are good already, and this is a tenth of the work.
    plain = text.lower().removesuffix(".").encode("utf-8", "replace")
    if is_plain(plain):
        return plain.decode()
    host = _strip_url(text.strip("\"'"))
    if _is_address(host):
        raise BadInput("is an IP address, not a name")
    host = _PORT.sub("", host).removeprefix("*.").removesuffix(".").lower()
    return check_name(to_ascii(host), _LABEL)


def _strip_url(text: str) -> str:
    scheme = _SCHEME.match(text)
    if scheme:
        return re.split(r"[/?#\\]", text[scheme.end() :], maxsplit=1)[0].rpartition("@")[2]
    if "@" in text:
        raise BadInput("is an e-mail address")
    return text.split("/", 1)[0]


def _is_address(text: str) -> bool:
    bracketed = text.startswith("[")
    host = text[1:].partition("]")[0] if bracketed else text
    for candidate in (host, _PORT.sub("", host)):
        try:
            ip_address(candidate)
        except ValueError:
            continue
        return True
    return False
