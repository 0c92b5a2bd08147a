import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0002_recommendation")]

    operations = [
        migrations.AddField(
            model_name="recommendation",
            name="campaign",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="recommendations",
                to="store.campaign",
            ),
        ),
        migrations.AddField(
            model_name="recommendation",
            name="share_token",
            field=models.CharField(blank=True, max_length=40, null=True, unique=True),
        ),
        migrations.AddField(
            model_name="recommendation",
            name="shared_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="recommendation",
            name="source",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="recommendation",
            name="title",
            field=models.CharField(blank=True, default="", max_length=200),
        ),
        migrations.AlterField(
            model_name="recommendation",
            name="state",
            field=models.CharField(
                choices=[
                    ("awaiting", "Awaiting"),
                    ("queued", "Queued"),
                    ("running", "Running"),
                    ("finished", "Finished"),
                    ("failed", "Failed"),
                ],
                default="queued",
                max_length=8,
            ),
        ),
    ]
