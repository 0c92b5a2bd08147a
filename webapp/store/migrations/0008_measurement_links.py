"""Measurement campaigns are published, taken back and shared by links as surveys are."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def tell_makers(apps, schema_editor):
    """Who owned a campaign has made it; a link that was kept in its row becomes one of its owner's."""
    alias = schema_editor.connection.alias
    rows = apps.get_model("store", "Measurement").objects.using(alias).filter(owner__isnull=False)
    rows.update(maker=models.F("owner"))
    links = apps.get_model("store", "ShareLink").objects.using(alias)
    shared = rows.exclude(share_sha256=None)
    for pk, owner, seed, sha256 in shared.values_list("pk", "owner", "share_seed", "share_sha256"):
        links.create(measurement_id=pk, owner_id=owner, seed=seed, sha256=sha256)
    # What these rows refer to is looked at now: PostgreSQL alters no table with checks to come.
    schema_editor.connection.check_constraints()


def drop_links(apps, schema_editor):
    """Before this, links opened surveys only."""
    links = apps.get_model("store", "ShareLink").objects.using(schema_editor.connection.alias)
    links.filter(survey__isnull=True).delete()
    schema_editor.connection.check_constraints()


def to(model, name):
    return models.ForeignKey(
        blank=True,
        null=True,
        on_delete=django.db.models.deletion.CASCADE,
        related_name=name,
        to=model,
    )


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("store", "0007_share_hashes"),
    ]

    operations = [
        migrations.AddField(
            "measurement",
            "maker",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AlterField("sharelink", "survey", to("store.campaign", "share_links")),
        migrations.AddField("sharelink", "measurement", to("store.measurement", "share_links")),
        migrations.AddConstraint(
            "sharelink",
            models.CheckConstraint(
                condition=models.Q(survey__isnull=False, measurement__isnull=True)
                | models.Q(survey__isnull=True, measurement__isnull=False),
                name="share_link_opens_one",
            ),
        ),
        migrations.RunPython(tell_makers, drop_links, elidable=True),
        migrations.RemoveField("measurement", "share_seed"),
        migrations.RemoveField("measurement", "share_sha256"),
    ]
