"""What each provider needs: one test fails for each part of a new provider that is missing."""

import re
from importlib import import_module
from pkgutil import iter_modules

import pytest

from cartography.patterns import load_rules
from cartography.ranges import guess_provider, providers
from cartography.ranges.regions import all_regions
from cartography.ranges.sanity_rules import RULES
from core.paths import PROJECT
from core.providers import PROVIDER_BY_ID, PROVIDERS, PROVIDERS_PATH, parse_providers
from tests.cartography.ranges.files import SAMPLES, read_sample, sample

# The only list of providers in the tests: one that is lost or renamed by accident is noticed here.
EXPECTED = (
    *("aws", "azure", "google", "oracle", "digitalocean", "linode"),
    *("cloudflare", "fastly", "akamai", "ibm"),
)
SAMPLES_OF = {
    key: sorted(path.name for path in SAMPLES.glob(f"{key}-*sample.*")) for key in EXPECTED
}
TOKENS = PROJECT / "webapp/pages/static/nephoscope/css/tokens.css"


def entries_of(provider):
    return [entry for name in SAMPLES_OF[provider] for entry in read_sample(name).entries]


def contrast(first, second):
    """The contrast ratio of two colours (WCAG 2.2, 1.4.3)."""
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_the_providers_are_those_expected():
    assert PROVIDERS == EXPECTED


def test_every_reader_module_has_a_row_and_every_row_a_reader_module():
    modules = [
        import_module(f"{providers.__name__}.{info.name}")
        for info in iter_modules(providers.__path__)
    ]
    readers = {m.__name__.rpartition(".")[2]: m for m in modules if hasattr(m, "PROVIDER")}

    assert {name: m.PROVIDER for name, m in readers.items()} == {key: key for key in PROVIDERS}
    assert all(callable(m.parse) and callable(m.match_score) for m in readers.values())


@pytest.mark.parametrize(("wrong", "key"), [("letter = ", "letter"), ("hue = ", "hue")])
def test_a_row_without_one_of_the_keys_is_refused(wrong, key):
    text = PROVIDERS_PATH.read_text(encoding="utf-8").replace(wrong, "unknown_key = ", 1)

    with pytest.raises(ValueError, match=f"provider aws: .*{key}, unknown_key"):
        parse_providers(text)


def test_names_and_letters_are_unique():
    rows = PROVIDER_BY_ID.values()
    assert len({row.name for row in rows}) == len({row.letter for row in rows}) == len(PROVIDERS)
    assert all(re.fullmatch("[A-Z0-9]", row.letter) for row in rows)


@pytest.mark.parametrize("provider", EXPECTED)
def test_the_letter_is_readable_on_the_hue_in_both_themes(provider):
    backgrounds = re.search(r"--on-hue: light-dark\((#\w+), (#\w+)\)", TOKENS.read_text()).groups()

    for hue, letter in zip(PROVIDER_BY_ID[provider].hue, backgrounds, strict=True):
        assert contrast(hue, letter) >= 4.5


@pytest.mark.parametrize("provider", EXPECTED)
def test_it_has_sample_files_that_no_other_provider_fits(provider):
    assert SAMPLES_OF[provider], f"no {provider}-*sample.* in fixtures/ranges"
    for name in SAMPLES_OF[provider]:
        assert guess_provider(sample(name)) == provider
        assert f"`{name}`" in (SAMPLES / "README.md").read_text()


@pytest.mark.parametrize("provider", EXPECTED)
def test_regions_of_its_sample_are_in_the_catalogue(provider):
    regions = {entry.region for entry in entries_of(provider) if entry.region}

    assert regions <= {region.code for region in all_regions(provider)}


@pytest.mark.parametrize("provider", EXPECTED)
def test_its_sanity_rules_exist(provider):
    rules = PROVIDER_BY_ID[provider].sanity_rules

    assert rules
    assert set(rules) <= RULES.keys()


@pytest.mark.parametrize("provider", EXPECTED)
def test_its_files_are_fetched_over_https(provider):
    assert all(url.startswith("https://") for url in PROVIDER_BY_ID[provider].range_urls)


@pytest.mark.parametrize("provider", EXPECTED)
def test_its_files_have_an_edition_where_it_is_stated(provider):
    if PROVIDER_BY_ID[provider].has_edition:
        assert all(read_sample(name).edition for name in SAMPLES_OF[provider])


@pytest.mark.parametrize("provider", EXPECTED)
def test_its_collective_services_are_in_its_sample(provider):
    services = {entry.service for entry in entries_of(provider)}

    assert PROVIDER_BY_ID[provider].collective_services.keys() <= services


@pytest.mark.parametrize("provider", EXPECTED)
def test_it_has_front_end_rules(provider):
    assert any(rule.provider == provider for rule in load_rules())


@pytest.mark.parametrize("provider", EXPECTED)
def test_the_method_pages_describe_it(provider):
    ranges = (PROJECT / "docs/methods/ranges.md").read_text(encoding="utf-8")
    patterns = (PROJECT / "docs/methods/patterns.md").read_text(encoding="utf-8")
    name = "AWS|Azure" if provider in ("aws", "azure") else PROVIDER_BY_ID[provider].name

    assert re.search(rf"^\| ({name})\b", ranges, re.M), "no row in the table of range files"
    assert re.search(rf"^\|[^|]*\b{provider}\b[^|]*\|", patterns, re.M), "no row of labels"
