import pytest

from core.errors import BadInput
from core.records import DomainEntry
from crawlers.engine.engine import Engine
from crawlers.engine.nameservers import Server
from crawlers.enumeration.enumeration import CrawlConfig, crawl_domains
from tasks.resolution.engine_factory import (
    INTERNET_RATE_QPS,
    Resolving,
    crawl_config,
    engine_config,
    opted_out,
    servers_of,
)
from tests.crawlers.engine.responder import Responder, good


def test_servers_on_the_internet_are_asked_slowly_and_named_loopback_ones_are_not_limited():
    for address, rate in (("192.0.2.53", INTERNET_RATE_QPS), ("127.0.0.1", None)):
        options = Resolving(name_servers=(address,))
        assert engine_config(options, servers_of(options)).rate_per_server == rate


def test_options_survive_the_store():
    options = Resolving(name_servers=("127.0.0.1:53",), window=7, wordlist=("a", "b"), axfr=False)
    assert Resolving.from_json(options.as_json()) == options


def test_networks_have_to_be_networks():
    with pytest.raises(BadInput, match="allow-network"):
        crawl_config(Resolving(allowed_networks=("10.0.0.0/99",)))


def test_domains_that_opted_out_are_not_asked(tmp_path):
    path = tmp_path / "opt-out.txt"
    path.write_text("# asked us in May\nquiet.example  # all of it\n")
    config = CrawlConfig(("www",), opt_out=opted_out(path))
    with (
        Responder(lambda q, n, p, i: [good(q)]) as responder,
        Engine([Server("127.0.0.1", responder.port)]) as engine,
    ):
        crawl = crawl_domains([DomainEntry("quiet.example", 1)], engine, config)
    assert not responder.asked
    assert crawl.outcomes[0].failed == (("OPTED_OUT", 1),)
