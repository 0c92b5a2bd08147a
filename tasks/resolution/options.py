"""From a command's or request's options to the options that a crawl keeps."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.resolution.engine_factory import Resolving, engine_config, load_wordlist, servers_of
from tasks.resolution.name_sources import check_options, chosen_sources, usual_permutations


def resolving_from(options: Mapping[str, Any]) -> Resolving:
    """Options of one crawl, checked now so that a mistake is reported before any work.

    Raises ``BadInput``. Name servers and networks that are not given are those of the settings.
    """
    # The bulk resolver starts without Django.
    from django.conf import settings  # noqa: PLC0415

    return resolving_with(options, settings.NAME_SERVERS, settings.ALLOWED_NETWORKS)


def resolving_with(
    options: Mapping[str, Any], name_servers: Sequence[str], networks: Sequence[str]
) -> Resolving:
    """The same with these name servers and networks where none are given."""
    chosen = Resolving(
        name_servers=tuple(options.get("name_server") or name_servers),
        rate=options.get("rate"),
        window=options.get("window"),
        retries=options.get("retries"),
        timeout_s=options.get("timeout"),
        wordlist=load_wordlist(options.get("wordlist")),
        aaaa=not options.get("no_aaaa", False),
        allowed_networks=tuple(options.get("allow_network") or networks),
        zone_rate=options.get("zone_rate"),
        total_rate=options.get("total_rate"),
        case_mixing=bool(options.get("case_mixing")),
        root_servers=tuple(options.get("root_server") or ()),
        **_sources_from(options),
    )
    engine_config(chosen, servers_of(chosen))
    check_options(chosen)
    return chosen


def _sources_from(options: Mapping[str, Any]) -> dict[str, Any]:
    imports, server = options.get("imports") or (), options.get("ct_server") or ""
    n_altered = options.get("permutations")
    given = {"import": bool(imports), "certificates": bool(server), "permutations": bool(n_altered)}
    names = chosen_sources(options.get("sources"), given)
    return {
        "axfr": "axfr" in names and not options.get("no_axfr", False),
        "words": "words" in names,
        "nsec": "nsec" in names,
        "imports": tuple(str(Path(p).resolve()) for p in imports) if "import" in names else (),
        "ct_server": server if "certificates" in names else "",
        "contact": options.get("contact") or "",
        "permutations": _count_permutations(n_altered) if "permutations" in names else 0,
    }


def _count_permutations(given: int | None) -> int:
    return usual_permutations() if given is None else given
