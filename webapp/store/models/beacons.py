"""Beacons, by which the browsers of a site's visitors measure round trips to regions."""

from django.conf import settings
from django.db import models


class Beacon(models.Model):
    """A script for the pages of some origins, and the targets that it measures.

    ``key`` is public: it is in the script's address. Of a report nothing is kept but counts by
    country, region and day.
    """

    key = models.CharField(max_length=32, unique=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    name = models.CharField(max_length=120)
    # Pairs of region and URL, and the origins of pages that may send reports.
    targets = models.JSONField()
    origins = models.JSONField()
    sample_share = models.FloatField()
    max_reports_per_day = models.PositiveIntegerField()
    # Reports of the day of the newest one.
    counted_on = models.DateField(null=True, blank=True)
    n_reports = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return self.name


class BeaconCell(models.Model):
    """Round trips of a day from one country to one region, as counts by bin."""

    beacon = models.ForeignKey(Beacon, on_delete=models.CASCADE, related_name="cells")
    day = models.DateField()
    # Empty for clients without a place in the tables.
    country = models.CharField(max_length=2, default="", blank=True)
    region = models.CharField(max_length=120)
    counts = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["beacon", "day", "country", "region"], name="one_cell_of_a_beacon"
            )
        ]

    def __str__(self) -> str:
        return f"{self.country} to {self.region} on {self.day}"
