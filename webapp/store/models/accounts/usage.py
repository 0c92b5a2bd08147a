"""What accounts have used, by day; it stays when the surveys and campaigns are deleted."""

from typing import ClassVar

from django.conf import settings
from django.db import models


class UsageDay(models.Model):
    """Domains surveyed and probes planned by one account on one day (UTC)."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="usage_days"
    )
    day = models.DateField()
    domains = models.PositiveBigIntegerField(default=0)
    probes = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "day"], name="one_usage_of_a_day")
        ]

    def __str__(self) -> str:
        return f"{self.owner_id} {self.day}"
