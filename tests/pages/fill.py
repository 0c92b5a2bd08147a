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
    from tests.pages import cast

    slugs = {name: campaign.slug for name, campaign in cast.everyone().items()}
    sys.stdout.write(json.dumps(slugs))


if __name__ == "__main__":
    main()
