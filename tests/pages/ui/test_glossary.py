"""The glossary: every term has a group and a definition, and pages explain terms that it has."""

import re
from html import unescape
from pathlib import Path

import pytest

from webapp.pages.templatetags.nephoscope import term
from webapp.pages.ui.glossary import group_terms, read_terms

ROOT = Path(__file__).resolve().parents[3]
MAX_DEFINITION = 300
pytestmark = pytest.mark.django_db


def test_every_term_has_a_group_and_a_short_definition():
    grouped = [one for _, terms in group_terms() for one in terms]
    assert {one.id for one in grouped} == set(read_terms())
    assert len(grouped) == len(read_terms()) >= 40
    assert len({one.title.casefold() for one in grouped}) == len(grouped)
    for one in grouped:
        assert one.definition.endswith("."), one.id
        assert len(one.definition) <= MAX_DEFINITION, one.id
        assert re.fullmatch(r"[a-z0-9-]+", one.id), one.id


def test_the_page_defines_every_term_under_its_fragment(client):
    html = unescape(client.get("/glossary/").content.decode())
    for one in read_terms().values():
        assert f'id="{one.id}"' in html
        assert one.definition.replace(" ", "") in re.sub(r"\s", "", html)


def test_terms_of_templates_are_in_the_glossary():
    used = [
        (path.name, key)
        for path in (ROOT / "templates").rglob("*.html")
        for key in re.findall(r'{% term "([^"]+)"', path.read_text())
    ]
    assert used
    assert [row for row in used if row[1] not in read_terms()] == []


def test_a_term_leads_to_its_entry_and_carries_its_definition():
    html = term("p95")
    assert 'href="/glossary/#p95"' in html
    assert read_terms()["p95"].definition in unescape(html)
    with pytest.raises(KeyError):
        term("nothing")
