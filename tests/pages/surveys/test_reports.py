"""What a report page says beside its figures."""

import pytest
from django.test import Client

from tests.pages import cast


@pytest.fixture
def atlas(db):
    return cast.atlas()


def page(atlas, family: str) -> str:
    return Client().get(f"/s/{atlas.slug}/reports/{family}/").content.decode()


def test_cells_that_their_source_contradicts_are_named_with_the_reason(atlas):
    patterns = page(atlas, "patterns")
    assert "The source contradicts itself" in patterns
    assert "aws vm, Share of domains: 52.5 % of 19.9K are 37.9K EC2 domains" in patterns
    assert "The source contradicts itself" not in page(atlas, "regions")


def test_a_table_without_a_published_one_claims_none(atlas):
    dangling = page(atlas, "dangling")
    assert "71 names have an alias whose target does not exist" in dangling
    assert "Restates" not in dangling
    assert ", after" not in dangling
    assert f"/s/{atlas.slug}/names/old.hao123.com/" in dangling
