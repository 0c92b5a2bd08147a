"""From options of a survey or command to an engine that asks the right servers politely."""

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from core.paths import FIXTURES
from core.records import Answer
from core.statuses import DnsStatus
from crawlers.engine.engine import Engine, EngineConfig, OutageLimit, Question
from crawlers.engine.nameservers import Server, parse_server, system_name_servers
from crawlers.engine.outages import PROBE
from crawlers.engine.rate_limit import Pace

if TYPE_CHECKING:
    from crawlers.enumeration.enumeration import CrawlConfig
    from crawlers.iterative.resolver import IterativeResolver

WORLD_NAME = "world.testbed.invalid"
OPT_OUT_PATH = FIXTURES / "opt-out.txt"
# Default limit of queries to one public resolver.
INTERNET_RATE_QPS = 200.0


@dataclass(frozen=True, slots=True)
class Resolving:
    """Options of one crawl, as they are stored with a survey."""

    name_servers: tuple[str, ...] = ()
    rate: float | None = None
    window: int | None = None
    retries: int | None = None
    timeout_s: float | None = None
    wordlist: tuple[str, ...] = ()
    axfr: bool = True
    aaaa: bool = True
    allowed_networks: tuple[str, ...] = ()
    zone_rate: float | None = None
    total_rate: float | None = None
    case_mixing: bool = False
    root_servers: tuple[str, ...] = ()
    words: bool = True
    nsec: bool = False
    imports: tuple[str, ...] = ()
    ct_server: str = ""
    contact: str = ""
    permutations: int = 0
    # Zones that may be transferred or walked, where proof of control is required.
    transfer_domains: tuple[str, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, options: dict[str, Any]) -> "Resolving":
        """Options of a stored survey; unknown keys are those of other parts."""
        known: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v
            for k, v in options.items()
            if k in cls.__slots__
        }
        return cls(**known)


def servers_of(options: Resolving) -> list[Server]:
    """The named servers, or the system's resolvers; raises ``BadInput``."""
    return [parse_server(s) for s in options.name_servers] or list(system_name_servers())


def engine_config(
    options: Resolving,
    servers: Sequence[Server],
    pace: Pace | None = None,
    outage_limit: OutageLimit | None = None,
) -> EngineConfig:
    """Limits from the options; no rate limit on named loopback servers.

    A ``pace`` is shared with other engines; without one an engine keeps the limit by itself.
    """
    # No server named: the Internet's root servers.
    local = bool(servers) and all(ipaddress.ip_address(s.address).is_loopback for s in servers)
    usual = None if local else INTERNET_RATE_QPS
    rate = usual if options.rate is None else options.rate
    chosen: dict[str, Any] = {
        "window": options.window,
        "retries": options.retries,
        "timeout_s": options.timeout_s,
        "zone_rate": options.zone_rate,
        "total_rate": options.total_rate,
        "case_mixing": options.case_mixing,
    }
    given = {k: v for k, v in chosen.items() if v is not None}
    return EngineConfig(rate_per_server=rate, pace=pace, outage_limit=outage_limit, **given)


@contextmanager
def open_engine(
    options: Resolving, pace: Pace | None = None, outage_limit: OutageLimit | None = None
) -> Iterator[Engine]:
    """An engine on the options' servers, closed afterwards; ``pace`` is
    ``tasks.resolution.shared_rate_limit.pace_for``.
    """
    servers = servers_of(options)
    engine = Engine(servers, engine_config(options, servers, pace, outage_limit))
    try:
        yield engine
    finally:
        engine.close()


def await_servers(options: Resolving, pace: Pace | None, limit_s: float) -> None:
    """Return once any of the servers answers anything; raises ``Unavailable`` after ``limit_s``."""
    with open_engine(options, pace, OutageLimit(limit_s)) as engine:
        for _ in engine.ask([Question(*PROBE)]):
            pass


@contextmanager
def open_iteration(options: Resolving) -> Iterator["IterativeResolver"]:
    """A resolver that starts at root servers, the named ones or those of the Internet."""
    from crawlers.iterative.resolver import open_iterative  # noqa: PLC0415

    roots = [parse_server(s) for s in options.root_servers]
    config = replace(engine_config(options, roots), recursion=False, follow=False)
    with open_iterative(roots, config, allowed=options.allowed_networks) as resolver:
        yield resolver


def allowed_networks(
    options: Resolving,
) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    """Networks in which name servers that were found may be queried; raises ``BadInput``."""
    try:
        return tuple(ipaddress.ip_network(n) for n in options.allowed_networks)
    except ValueError as error:
        raise BadInput(f"{error}; write it like 10.0.0.0/8", field="allow-network") from error


def crawl_config(
    options: Resolving,
    domains: Iterable[str] = (),
    excluded: frozenset[str] = frozenset(),
    denied: Iterable[str] = (),
) -> "CrawlConfig":
    """Return the options of enumeration; ``domains`` are those of imported lists.

    ``excluded`` domains and servers in ``denied`` prefixes are not queried, beside the domains of
    the opt-out file.
    """
    # A vantage point enumerates nothing, and does without numpy and its 11 MB.
    from crawlers.enumeration.enumeration import CrawlConfig  # noqa: PLC0415
    from crawlers.sources.wordlist import default_wordlist  # noqa: PLC0415
    from tasks.resolution.name_sources import open_sources  # noqa: PLC0415

    networks = allowed_networks(options)
    quiet = opted_out() | excluded
    permitted = options.transfer_domains
    return CrawlConfig(
        wordlist=(options.wordlist or default_wordlist()) if options.words else (),
        axfr=options.axfr,
        aaaa=options.aaaa,
        allowed_networks=networks,
        denied_networks=tuple(ipaddress.ip_network(n) for n in denied),
        transfer_domains=None if permitted is None else frozenset(permitted),
        opt_out=quiet,
        sources=open_sources(options, domains, networks, quiet),
    )


def opted_out(path: Path = OPT_OUT_PATH) -> frozenset[str]:
    """Domains that asked not to be measured."""
    # The rules of international names take as long to load as some thousand names to resolve.
    from crawlers.files.domain_list import normalise_domain  # noqa: PLC0415

    lines = path.read_text().splitlines() if path.is_file() else []
    plain = (line.split("#")[0].strip() for line in lines)
    return frozenset(normalise_domain(name) for name in plain if name)


def load_wordlist(path: Path | str | None) -> tuple[str, ...]:
    """The words of a file, or none for the product's own list."""
    if not path:
        return ()
    from crawlers.sources.wordlist import read_wordlist  # noqa: PLC0415

    try:
        return read_wordlist(Path(path).read_bytes())
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}", field="wordlist") from error


def count_words(options: Resolving) -> int:
    """How many labels a survey asks for in each zone."""
    from crawlers.sources.wordlist import default_wordlist  # noqa: PLC0415

    return len(options.wordlist or default_wordlist()) if options.words else 0


def detect_world(engine: Engine) -> dict[str, str]:
    """Which emulated world answers, as {world, scale, seed}; empty on the real Internet."""
    for _, answer in engine.resolve([Question(WORLD_NAME, "TXT")]):
        return _read_world(answer)
    return {}


def _read_world(answer: Answer) -> dict[str, str]:
    if answer.status != DnsStatus.NOERROR:
        return {}
    for record in answer.answers:
        text = record.data.replace('"', "")
        if record.type == "TXT" and text.startswith("nephoscope-testbed "):
            return dict(part.split("=", 1) for part in text.split()[1:] if "=" in part)
    return {}
