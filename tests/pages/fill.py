"""Fills the data folder of the environment with the cast: ``python -m tests.pages.fill``."""

import json
import os
import sys
from typing import Any

import django
from django.core.management import call_command


def campaign_of(name: str, password: str) -> Any:
    """A campaign that somebody alone sees."""
    from django.contrib.auth import get_user_model

    from tests.pages.campaigns import campaign_cast
    from webapp.store.models import Campaign, VantagePoint

    grace = get_user_model().objects.create_user(name, password=password)
    rows = [campaign_cast.sample("v-one", "us-east-1", [12.5, 13.5])]
    made = campaign_cast.campaign("between-us-0123456789", rows, "Between us two")
    Campaign.objects.filter(pk=made.pk).update(owner=grace, maker=grace)
    # The page of vantage points has to be seen empty as well.
    VantagePoint.objects.all().delete()
    return made


def fill() -> dict[str, str]:
    """Migrate and store the whole cast; each one's slug by name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    call_command("migrate", verbosity=0)
    from tasks.surveys import derived
    from tests.pages import cast
    from tests.pages.audits import audit_cast
    from tests.pages.campaigns import pairs
    from tests.pages.simulations import simulation_cast

    everyone = cast.everyone()
    everyone["later"] = pairs.after()
    for campaign in everyone.values():
        campaign.refresh_from_db()
    derived.compare_surveys(everyone["atlas"], everyone["later"])
    derived.index_survey(everyone["edges"])
    everyone["measured"] = campaign_of("grace", "a walnut on the shelf")
    slugs = {name: campaign.slug for name, campaign in everyone.items()}
    audits = audit_cast.everyone(everyone["atlas"], everyone["later"])
    slugs |= {name: audit.slug for name, audit in audits.items()}
    return slugs | simulation_cast.everyone()


def main() -> None:
    """Store the whole cast, and say each one's slug as JSON."""
    sys.stdout.write(json.dumps(fill()))


if __name__ == "__main__":
    main()
