"""Work is claimed by conditions on its own row, so that two workers never get the same.

PostgreSQL compares a row that another transaction has just changed with the conditions on the row
once more, but not with a subquery for rows of the same table, as Django makes of joined ones.
"""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from webapp.store.audits import services as audits
from webapp.store.models import JoinToken, VantagePoint
from webapp.store.recommendations import services as recommendations
from webapp.store.simulations import services as simulations
from webapp.store.surveys import batches
from webapp.store.surveys import services as surveys
from webapp.store.vantages import services as vantages

_OWN_SUBQUERY = re.compile(r'UPDATE "(\w+)" SET .* WHERE .*\(SELECT .* FROM "\1"', re.S)


def join():
    point = VantagePoint.objects.create(name="here", state=VantagePoint.State.INVITED)
    vantages.redeem(vantages.new_token(point), None, "1")
    assert JoinToken.objects.get().used_at


CLAIMS = {
    "shard": lambda: surveys.claim(0),
    "batch": lambda: batches.reclaim(0),
    "audit": lambda: audits.claim(0),
    "recommendation": lambda: recommendations.claim(0),
    "simulation": lambda: simulations.claim(0),
    "token": join,
}


@pytest.mark.django_db
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_has_its_conditions_on_the_row_itself(claim):
    with CaptureQueriesContext(connection) as captured:
        CLAIMS[claim]()
    updates = [q["sql"] for q in captured if q["sql"].startswith("UPDATE")]
    assert updates
    assert not [sql for sql in updates if _OWN_SUBQUERY.match(sql)]


def test_the_pattern_finds_what_it_looks_for():
    bad = 'UPDATE "store_shard" SET "a" = 1 WHERE "store_shard"."id" IN '
    bad += '(SELECT U0."id" FROM "store_shard" U0 INNER JOIN "store_survey" U1 ON (1))'
    assert _OWN_SUBQUERY.match(bad)
    assert not _OWN_SUBQUERY.match(bad.replace('FROM "store_shard" U0', 'FROM "store_survey" U0'))
