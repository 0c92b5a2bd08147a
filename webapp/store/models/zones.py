"""What zones of a survey's addresses are inferred from, and the state of the inference."""

from django.db import models

from webapp.store.models.bases import LeasedJob
from webapp.store.models.campaigns import Campaign
from webapp.store.models.surveys import Survey


class ZoneSource(models.Model):
    """Observations for the zones of a survey: an uploaded file, or a campaign from inside clouds.

    Files stand below ``zone-observations/`` of the data folder, by survey and digest.
    """

    class Kind(models.TextChoices):
        """What a source holds; files are read by ``cartography.zones.input_files``."""

        SAMPLES = "samples"  # own instances
        TARGETS = "targets"  # internal addresses of targets
        RTTS = "rtts"
        ZONE_IDS = "zone_ids"
        CAMPAIGN = "campaign"

    survey = models.ForeignKey(Survey, on_delete=models.CASCADE, related_name="zone_sources")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    # File name, or the campaign's slug; a second file of this name replaces the first.
    name = models.CharField(max_length=200)
    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    sha256 = models.CharField(max_length=64, default="", blank=True)
    rows = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["kind", "name"]
        constraints = [
            models.UniqueConstraint(fields=["survey", "kind", "name"], name="zone_source_once")
        ]

    def __str__(self) -> str:
        return f"{self.survey_id}/{self.kind}/{self.name}"


class ZoneInference(LeasedJob):
    """The inference of a survey's zones; it is repeated when a source brings something new."""

    survey = models.OneToOneField(Survey, on_delete=models.CASCADE, related_name="zone_inference")
    # The moment of the newest observation that the results rest on.
    observed_at = models.DateTimeField(null=True, blank=True)
    # Coverage, regions and accounts, as ``zones infer`` gives them.
    summary = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.survey_id}/{self.state}"
