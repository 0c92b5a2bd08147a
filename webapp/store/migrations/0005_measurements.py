import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("store", "0004_vantage_points"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Measurement",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.SlugField(max_length=120, unique=True)),
                ("name", models.CharField(max_length=200)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("paused", "Paused"),
                            ("finished", "Finished"),
                            ("partial", "Partial"),
                            ("stopped", "Stopped"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("preset", models.CharField(blank=True, default="", max_length=40)),
                ("schedule", models.JSONField(default=dict)),
                ("targets", models.JSONField(default=list)),
                ("vantages", models.JSONField(default=list)),
                ("limits", models.JSONField(default=dict)),
                ("seed", models.PositiveBigIntegerField(default=0)),
                ("synthetic", models.BooleanField(default=False)),
                ("label", models.CharField(blank=True, default="", max_length=200)),
                ("in_process", models.BooleanField(default=False)),
                ("predicted", models.JSONField(default=dict)),
                ("summary", models.JSONField(default=dict)),
                ("notes", models.JSONField(default=list)),
                ("error", models.TextField(blank=True, default="")),
                (
                    "share_token",
                    models.CharField(blank=True, max_length=40, null=True, unique=True),
                ),
                (
                    "idempotency_key",
                    models.CharField(blank=True, max_length=120, null=True, unique=True),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("starts_at", models.DateTimeField(blank=True, null=True)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("paused_at", models.DateTimeField(blank=True, null=True)),
                ("paused_s", models.FloatField(default=0.0)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("reported_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-created_at", "-id"],
            },
        ),
        migrations.CreateModel(
            name="MeasurementReport",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("table_id", models.CharField(max_length=40)),
                ("columns", models.JSONField()),
                ("rows", models.JSONField()),
                ("n", models.PositiveBigIntegerField()),
                ("headline", models.TextField()),
                ("checks", models.JSONField(default=list)),
                ("computed_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="MeasurementUnit",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=80)),
                ("activity", models.CharField(max_length=40)),
                ("vantage", models.CharField(max_length=63)),
                ("round", models.PositiveIntegerField()),
                ("starts_s", models.FloatField()),
                ("ends_s", models.FloatField()),
                ("slots", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("sent", "Sent"),
                            ("done", "Done"),
                            ("missed", "Missed"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("leased_until", models.DateTimeField(blank=True, null=True)),
                ("due_at", models.DateTimeField(blank=True, null=True)),
                ("sent_at", models.DateTimeField(blank=True, null=True)),
                ("began_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("ok", models.PositiveIntegerField(default=0)),
                ("failed", models.PositiveIntegerField(default=0)),
                ("missed", models.PositiveIntegerField(default=0)),
                ("late", models.PositiveIntegerField(default=0)),
                ("counters", models.JSONField(default=dict)),
                ("rows", models.JSONField(default=dict)),
                ("part", models.CharField(blank=True, default="", max_length=80)),
                ("error", models.TextField(blank=True, default="")),
            ],
            options={
                "ordering": ["measurement_id", "starts_s", "key"],
            },
        ),
        migrations.AddField(
            model_name="measurement",
            name="cloned_from",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="clones",
                to="store.measurement",
            ),
        ),
        migrations.AddField(
            model_name="measurement",
            name="owner",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="measurementreport",
            name="measurement",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="reports",
                to="store.measurement",
            ),
        ),
        migrations.AddField(
            model_name="measurementunit",
            name="measurement",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="units",
                to="store.measurement",
            ),
        ),
        migrations.AddConstraint(
            model_name="measurementreport",
            constraint=models.UniqueConstraint(
                fields=("measurement", "table_id"), name="measurement_report_once"
            ),
        ),
        migrations.AddIndex(
            model_name="measurementunit",
            index=models.Index(
                fields=["measurement", "state", "starts_s"], name="measurement_unit_due"
            ),
        ),
        migrations.AddConstraint(
            model_name="measurementunit",
            constraint=models.UniqueConstraint(
                fields=("measurement", "key"), name="measurement_unit_once"
            ),
        ),
    ]
