"""Fills the data folder of the environment with the cast: ``python -m tests.pages.fill``."""

import json
import os
import sys

import django
from django.core.management import call_command


def main() -> None:
    """Migrate, store the whole cast, and say each one's slug as JSON."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    call_command("migrate", verbosity=0)
    from tasks import deriving
    from tests.pages import cast, pairs

    everyone = cast.everyone()
    everyone["later"] = pairs.after()
    for campaign in everyone.values():
        campaign.refresh_from_db()
    deriving.compare_surveys(everyone["atlas"], everyone["later"])
    deriving.index_survey(everyone["edges"])
    slugs = {name: campaign.slug for name, campaign in everyone.items()}
    sys.stdout.write(json.dumps(slugs))


if __name__ == "__main__":
    main()
