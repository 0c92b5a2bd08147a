"""Addresses that are composed once are Django's own."""

import pytest
from django.template import Context, Template
from django.urls import NoReverseMatch, reverse, set_script_prefix
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from webapp.pages.ui.links import path_to, paths_below

VALUES = st.text(min_size=1, max_size=12).filter(lambda text: "/" not in text and "\n" not in text)


@pytest.fixture(autouse=True)
def _prefix():
    yield
    set_script_prefix("/")


@settings(deadline=None, max_examples=examples(100))
@given(VALUES, st.sampled_from(["/", "/shared/x/"]))
def test_addresses_are_those_of_reverse(value, prefix):
    set_script_prefix(prefix)
    try:
        wanted = reverse("domain", args=["s-1", value])
    except UnicodeEncodeError:
        return
    assert path_to("domain", "s-1", value) == wanted
    assert paths_below("domain", "s-1")(value) == wanted
    tag = Template("{% url 'domain' slug=slug domain=value %}")
    assert tag.render(Context({"slug": "s-1", "value": value}, autoescape=False)) == wanted


@pytest.mark.parametrize("value", ["", "a/b"])
def test_a_value_that_is_no_part_of_an_address_is_refused(value):
    with pytest.raises(NoReverseMatch):
        paths_below("domain", "s-1")(value)
