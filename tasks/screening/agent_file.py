"""The one-file agent as it is given out: as it stands, or knowing the site that it came from."""

from functools import lru_cache

from core.paths import PROJECT

AGENT = PROJECT / "screening" / "agent.py"
UNKNOWN_SITE = 'SITE_URL = ""\n'


@lru_cache(maxsize=32)
def read_agent(site: str = "") -> bytes:
    """The agent's bytes; with a site, ``--pool`` needs no ``--server`` any more."""
    data = AGENT.read_bytes()
    if not site:
        return data
    old, new = UNKNOWN_SITE.encode(), f"SITE_URL = {site!r}\n".encode()
    if data.count(old) != 1:
        raise RuntimeError("the agent has no place for its site's address")
    return data.replace(old, new)
