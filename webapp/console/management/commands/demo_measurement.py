"""``manage.py demo_measurement``: the wide-area measurement of a new installation, synthetic."""

from typing import Any

from tasks.audits.demo import complete_demo
from tasks.campaigns.demo import build_demo
from tasks.simulations.celery_tasks import start_published
from webapp.console.product_command import ProductCommand
from webapp.store.models import Survey


class Command(ProductCommand):
    """Store the labelled synthetic measurement when the store holds none yet."""

    help = "the first wide-area measurement of a new installation, labelled synthetic"

    def handle(self, *args: Any, **options: Any) -> None:
        # Workers run them beside the measurement.
        start_published()
        made = build_demo()
        if made:
            self.write_note(f"· {made.name}: a synthetic measurement, at /wide-area/{made.slug}/")
            survey = Survey.objects.filter(owner=None, world__gt="", finished_at__isnull=False)
            for line in complete_demo(made, survey.first()):
                self.write_note(f"· {line}")
