"""A nightly audit in the store of a site: ``python -m tests.tasks.schedules.nightly``.

``make URL DOMAINS POLICY`` makes an account, a schedule and an endpoint; ``due`` lets the schedule
be due now; ``show`` prints what the store holds, as JSON.
"""

import json
import os
import sys
from datetime import timedelta
from pathlib import Path

import django

KINDS = ["finding-new", "finding-resolved", "no-data"]


def make(url, domains, policy):
    from django.contrib.auth import get_user_model
    from django.utils import timezone

    from tasks.schedules import starting
    from webapp.store.schedules import endpoints, services

    anna, now = get_user_model().objects.create_user("anna"), timezone.now()
    asked = {"domains": Path(domains).read_text(), "policy_document": Path(policy).read_text()}
    what = ("audit", starting.check_request("audit", asked, anna))
    services.create_schedule(anna, "Nightly", what, services.Recurrence("30 2 * * *"), now)
    endpoints.create_endpoint(anna, {"name": "Hook", "target": url, "kinds": KINDS}, now)


def due():
    from django.utils import timezone

    from webapp.store.models import Schedule

    Schedule.objects.update(next_due=timezone.now() - timedelta(seconds=1))


def show():
    from webapp.store.audits import findings
    from webapp.store.models import (
        AlertDelivery,
        Audit,
        ScheduleEvent,
        ScheduleRun,
        Survey,
    )

    audits, events = Audit.objects.order_by("id"), ScheduleEvent.objects.filter(kind__in=KINDS)
    events = events.order_by("id")
    sys.stdout.write(
        json.dumps(
            {
                "runs": list(ScheduleRun.objects.order_by("id").values_list("state", flat=True)),
                "errors": list(ScheduleRun.objects.order_by("id").values_list("error", flat=True)),
                "surveys": Survey.objects.count(),
                "audits": [row.state for row in audits],
                "not_judged": [
                    [(f["rule"], f["subject"]) for f in findings.read_document(row)["not_judged"]]
                    for row in audits
                    if row.report
                ],
                "events": list(events.values_list("event_id", flat=True)),
                "waiting": AlertDelivery.objects.filter(state="waiting").count(),
                "attempts": sum(AlertDelivery.objects.values_list("attempts", flat=True)),
            }
        )
    )


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    {"make": make, "due": due, "show": show}[sys.argv[1]](*sys.argv[2:])
