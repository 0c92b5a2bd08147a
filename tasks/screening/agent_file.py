"""The one-file agent as a site gives it out: plain, or with the site's own address."""

from functools import lru_cache

from screening import bundle


@lru_cache(maxsize=32)
def read_agent(site: str = "") -> bytes:
    """Return the agent's bytes; with a site, ``--pool`` needs no ``--server`` any more."""
    return (bundle.build_for_site(site) if site else bundle.build()).encode()
