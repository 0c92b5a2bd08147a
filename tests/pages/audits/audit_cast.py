"""Audits as they come: one with findings of many rules, the one after it, one that waits, one that
failed."""

from tasks.audits import stored_audit
from tasks.audits.submission import NewAudit, start_audit
from webapp.store.audits import services
from webapp.store.models import Audit, Survey
from webapp.store.surveys.services import ANONYMOUS, Requester

# The observations of the cast are of 2013.
POLICY = b"""version = 1
name = "resilience"
title = "Resilience"
fail_on = "high"
[data]
max_age_days = 100000
max_failed_share = 1
min_names = 0
[rules.single-region]
[rules.single-zone]
[rules.residency]
allowed = ["eea"]
[rules.single-provider]
[rules.single-dns-operator]
[rules.slow-country]
countries = ["DE"]
[rules.outage-exposure]
[rules.dangling-name]
[rules.claimable-name]
[rules.open-zone-transfer]
[rules.wildcard]
[rules.no-ipv6]
[rules.posture-change]
[[suppressions]]
rule = "no-ipv6"
subject = "*"
reason = "the resolvers of our customers have none either"
owner = "platform team"
expires = 2099-01-01
[[suppressions]]
rule = "single-region"
subject = "gone.example"
reason = "static pages, rebuilt in an hour"
owner = "platform team"
expires = 2020-01-01
"""
# The same by name, with a rule that nothing of the cast breaks.
CLEAN = b"""version = 1
name = "resilience"
[data]
max_age_days = 100000
max_failed_share = 1
min_names = 0
[rules.region-regret]
"""


def audit(survey, maker=ANONYMOUS, policy=POLICY, **more):
    """A judged audit of a survey."""
    asked = NewAudit(survey=survey.slug, policy_document=policy, **more)
    row = services.claim(start_audit(asked, maker).pk)
    assert stored_audit.run(row, in_worker=False), Audit.objects.get(pk=row.pk).error
    row.refresh_from_db()
    return row


def everyone(atlas, later):
    """All of them by name."""
    before = audit(atlas, name="Shops of the north")
    Survey.objects.filter(pk=later.pk).update(list_sha256=atlas.list_sha256)
    made = {
        "audited_before": before,
        "audited": audit(later, name="Shops of the north", previous=before.slug),
        "waiting_audit": start_audit(
            NewAudit(survey=atlas.slug, name="Waits", policy_document=POLICY), ANONYMOUS
        ),
    }
    failed = start_audit(
        NewAudit(domains=b"shop.example\n", name="Nobody answered"), Requester(is_limited=False)
    )
    claimed = Audit.objects.filter(pk=failed.pk)
    claimed.update(state="failed", error="its survey ended as failed: no name server answers")
    failed.survey.delete()
    return made | {"failed_audit": failed}
