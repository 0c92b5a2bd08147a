"""The registered domain of a name, by the public suffix list: the key of limits per zone."""

from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList


@cache
def _suffix_list() -> PublicSuffixList:
    return PublicSuffixList()


@lru_cache(maxsize=100_000)
def registered_domain(name: str) -> str:
    """Return the registered domain of a name, or the name if it is a public suffix itself."""
    return _suffix_list().privatesuffix(name) or name
