"""Sources of names beside zone transfers and the word list, from the options of a crawl."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from core.errors import BadInput
from crawlers.engine.nameservers import Network

if TYPE_CHECKING:
    from crawlers.sources.base import Source
    from crawlers.sources.certificates import CertificateConfig

NAMES = ("axfr", "nsec", "words", "import", "certificates", "permutations")
_MOST_PERMUTATIONS = 100_000


class SourceOptions(Protocol):
    """The options that this module reads; ``engine_factory.Resolving`` has them."""

    @property
    def nsec(self) -> bool:
        """Whether to walk signed zones."""

    @property
    def imports(self) -> tuple[str, ...]:
        """Files with names."""

    @property
    def ct_server(self) -> str:
        """Where certificates are searched, if anywhere."""

    @property
    def contact(self) -> str:
        """Whom that server's operator may write to."""

    @property
    def permutations(self) -> int:
        """Altered names per zone at most."""


def open_sources(
    options: SourceOptions,
    domains: Iterable[str],
    networks: tuple[Network, ...],
    opt_out: frozenset[str],
) -> "tuple[Source, ...]":
    """The sources wished for; raises ``BadInput`` or ``MissingData`` for an unusable list."""
    # A bulk run checks options only, and starts without sources of names.
    from crawlers.sources.certificates import Certificates  # noqa: PLC0415
    from crawlers.sources.imports import ImportConfig, Imports, collect_names  # noqa: PLC0415
    from crawlers.sources.nsec import ZoneWalks  # noqa: PLC0415
    from crawlers.sources.permutations.generate import (  # noqa: PLC0415
        PermutationConfig,
        Permutations,
    )

    sources: list[Source] = []
    if options.nsec:
        sources.append(ZoneWalks(opt_out=opt_out))
    if options.imports:
        config = ImportConfig(tuple(Path(p) for p in options.imports))
        sources.append(Imports(collect_names(config, domains)))
    if options.ct_server:
        sources.append(Certificates(_search(options, networks)))
    if options.permutations:
        sources.append(Permutations(PermutationConfig(options.permutations)))
    return tuple(sources)


def _search(options: SourceOptions, networks: tuple[Network, ...]) -> "CertificateConfig":
    from crawlers.sources.certificates import CertificateConfig  # noqa: PLC0415

    return CertificateConfig(options.ct_server, options.contact, allowed_networks=networks)


def usual_permutations() -> int:
    """What each zone may cost where permutations are wished without a number."""
    from crawlers.sources.permutations.generate import PermutationConfig  # noqa: PLC0415

    return PermutationConfig().budget


def check_options(options: SourceOptions) -> None:
    """Raise ``BadInput`` for what would fail only later."""
    for path in options.imports:
        if not Path(path).is_file():
            raise BadInput(f"there is no file {path}", field="import")
    if options.ct_server:
        _search(options, ())
    if not 0 <= options.permutations <= _MOST_PERMUTATIONS:
        raise BadInput(f"must be from 0 to {_MOST_PERMUTATIONS}", field="permutations")


def chosen_sources(text: str | None, given: dict[str, bool]) -> frozenset[str]:
    """The names in ``--sources``, or transfers, words and what other options ask for (``given``).

    Raises ``BadInput`` for an unknown name, or one without its option.
    """
    if not text:
        return frozenset({"axfr", "words"} | {name for name, is_given in given.items() if is_given})
    chosen = frozenset(part.strip() for part in text.split(",") if part.strip())
    unknown = sorted(chosen.difference(NAMES))
    if unknown or not chosen:
        raise BadInput(f"{', '.join(unknown) or text!r}: use {', '.join(NAMES)}", field="sources")
    for name, option in (("import", "--import FILE"), ("certificates", "--ct-server URL")):
        if name in chosen and not given[name]:
            raise BadInput(f"{name} needs {option}", field="sources")
    return chosen
