"""Links and tokens of recommendations and pools: the database alone opens nothing."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.core import serializers
from django.test import Client

from webapp.store.access import share_links
from webapp.store.access.visibility import OPERATOR
from webapp.store.models import Pool, PoolToken, Recommendation
from webapp.store.recommendations import services as recommendation_services
from webapp.store.screening import selectors, services
from webapp.store.screening.ingest import InvalidToken, find_grant
from webapp.store.screening.services import PoolSettings

pytestmark = pytest.mark.django_db


@pytest.fixture
def anna() -> Any:
    return get_user_model().objects.create_user("anna")


@pytest.fixture
def row(anna: Any) -> Recommendation:
    return Recommendation.objects.create(token="of-anna", owner=anna, title="Hers")


@pytest.fixture
def pool(anna: Any) -> Pool:
    return Pool.objects.get(pk=services.create_pool(anna, PoolSettings(name="Hers")).id)


def test_a_link_can_be_copied_again_and_its_row_opens_nothing(row: Any, pool: Any) -> None:
    secrets = [recommendation_services.share(row), share_links.share(pool)]
    assert len({*secrets}) == 2
    assert [share_links.secret_of(r) for r in (row, pool)] == secrets
    assert recommendation_services.share(row) == secrets[0]
    stored = serializers.serialize("json", [*Recommendation.objects.all(), *Pool.objects.all()])
    assert not [s for s in secrets if s in stored or s[8:] in stored]
    for kept in (row.share_seed, row.share_sha256, "", "None"):
        assert recommendation_services.find_shared(kept) is None
    found = selectors.find_shared_pool(secrets[1])
    assert (recommendation_services.find_shared(secrets[0]), found.id) == (row, pool.pk)
    # What opens one thing opens no other.
    assert recommendation_services.find_shared(secrets[1]) is None
    assert selectors.find_shared_pool(secrets[0]) is None


def test_links_end_with_their_account_and_when_taken_back(row: Any, pool: Any, anna: Any) -> None:
    secret, of_pool = recommendation_services.share(row), share_links.share(pool)
    token = services.create_token(selectors.find_pool(anna, pool.key))[1]
    assert find_grant(token).key == pool.key
    anna.is_active = False
    anna.save()
    assert recommendation_services.find_shared(secret) is None
    assert selectors.find_shared_pool(of_pool) is None
    with pytest.raises(InvalidToken, match="closed"):
        find_grant(token)
    anna.is_active = True
    anna.save()
    assert recommendation_services.find_shared(secret) == row
    recommendation_services.revoke_share(row)
    assert recommendation_services.find_shared(secret) is None
    assert recommendation_services.share(row) != secret


def test_a_new_token_of_a_pool_is_shown_once_and_stands_nowhere(anna: Any) -> None:
    client = Client()
    client.force_login(anna)
    page = client.post("/screening/pools/new/", {"name": "Mine", "wanted": 3})["Location"]
    kept = [Session.objects.get().get_decoded()]
    shown = client.get(page).content.decode()
    token = shown.split("nsp_")[1].split("<")[0].split('"')[0].split()[0]
    assert find_grant(f"nsp_{token}").pool
    assert token not in repr(kept)
    assert "pool-token" not in repr(Session.objects.get().get_decoded())
    assert "nsp_" + token not in client.get(page).content.decode()
    assert f"nsp_{token}" not in serializers.serialize("json", PoolToken.objects.all())


def test_a_token_that_nobody_came_to_see_is_not_shown_later(anna: Any) -> None:
    client = Client()
    client.force_login(anna)
    page = client.post("/screening/pools/new/", {"name": "Mine", "wanted": 3})["Location"]
    session = client.session
    (name,) = [n for n, _ in session.items() if n.startswith("pool-token")]
    seed, made_at_s = session[name]
    session[name] = [seed, made_at_s - 3600]
    session.save()
    secret = services.derive_token(seed)
    assert find_grant(secret).pool
    assert secret not in client.get(page).content.decode()


def test_the_operators_pools_take_reports(anna: Any) -> None:
    made = services.create_pool(OPERATOR, PoolSettings(name="Of nobody"))
    assert find_grant(services.create_token(made)[1]).key == made.key
