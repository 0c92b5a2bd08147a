"""A survey is called a survey, and a measurement campaign a campaign: tables and columns follow."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def once(name, *fields, condition=None):
    return models.UniqueConstraint(fields=list(fields), condition=condition, name=name)


def link_of_one(survey, campaign):
    """One of two columns is null, and the other is not."""
    return models.CheckConstraint(
        condition=models.Q(**{f"{survey}__isnull": False, f"{campaign}__isnull": True})
        | models.Q(**{f"{survey}__isnull": True, f"{campaign}__isnull": False}),
        name="share_link_opens_one",
    )


def owner_of_survey(**options):
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=django.db.models.deletion.CASCADE,
        null=True,
        blank=True,
        related_name="surveys",
        **options,
    )


def maker_of_survey(**options):
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=django.db.models.deletion.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        **options,
    )


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("store", "0008_measurement_links"),
    ]

    operations = [
        # Constraints first: they are bound to the old names.
        migrations.RemoveConstraint("campaign", "campaign_key_of_maker"),
        migrations.RemoveConstraint("campaign", "campaign_key_of_nobody"),
        migrations.RemoveConstraint("shard", "shard_once"),
        migrations.RemoveConstraint("report", "report_once"),
        migrations.RemoveConstraint("sharelink", "share_link_opens_one"),
        migrations.RemoveConstraint("measurementunit", "measurement_unit_once"),
        migrations.RemoveIndex("measurementunit", "measurement_unit_due"),
        migrations.RemoveConstraint("measurementreport", "measurement_report_once"),
        migrations.AlterModelOptions("shard", options={}),
        migrations.AlterModelOptions("measurementunit", options={}),
        # What was a campaign becomes a survey, so that its name is free.
        migrations.RenameModel("Campaign", "Survey"),
        # Its indexes keep the names of the old table until they are made anew (see ``owner`` below).
        migrations.AlterField("survey", "owner", owner_of_survey(db_index=False)),
        migrations.AlterField("survey", "maker", maker_of_survey(db_index=False)),
        migrations.AlterField("survey", "maker", maker_of_survey(db_index=True)),
        migrations.RenameField("shard", "campaign", "survey"),
        migrations.RenameField("report", "campaign", "survey"),
        migrations.RenameField("recommendation", "campaign", "survey"),
        migrations.RenameModel("Measurement", "Campaign"),
        migrations.RenameModel("MeasurementUnit", "CampaignUnit"),
        migrations.RenameModel("MeasurementReport", "CampaignReport"),
        migrations.RenameField("campaignunit", "measurement", "campaign"),
        migrations.RenameField("campaignreport", "measurement", "campaign"),
        migrations.RenameField("sharelink", "measurement", "campaign"),
        migrations.AlterField("survey", "owner", owner_of_survey(db_index=True)),
        migrations.AlterField(
            model_name="survey",
            name="range_tables",
            field=models.ManyToManyField(blank=True, related_name="surveys", to="store.rangetable"),
        ),
        migrations.AlterModelOptions("shard", options={"ordering": ["survey_id", "first"]}),
        migrations.AlterModelOptions(
            "campaignunit", options={"ordering": ["campaign_id", "starts_s", "key"]}
        ),
        migrations.AddConstraint(
            "survey",
            once(
                "survey_key_of_maker",
                "maker",
                "idempotency_key",
                condition=models.Q(maker__isnull=False),
            ),
        ),
        migrations.AddConstraint(
            "survey",
            once("survey_key_of_nobody", "idempotency_key", condition=models.Q(maker__isnull=True)),
        ),
        migrations.AddConstraint("shard", once("shard_once", "survey", "key")),
        migrations.AddConstraint("report", once("report_once", "survey", "table_id")),
        migrations.AddConstraint("sharelink", link_of_one("survey", "campaign")),
        migrations.AddConstraint("campaignunit", once("campaign_unit_once", "campaign", "key")),
        migrations.AddIndex(
            "campaignunit",
            models.Index(fields=["campaign", "state", "starts_s"], name="campaign_unit_due"),
        ),
        migrations.AddConstraint(
            "campaignreport", once("campaign_report_once", "campaign", "table_id")
        ),
    ]
