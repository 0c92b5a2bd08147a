"""Share links were stored as they are; only their hashes stay, and they go on opening."""

from hashlib import sha256

from django.db import migrations, models

SHARED = ("recommendation", "measurement")


def keep_hashes(apps, schema_editor):
    for name in SHARED:
        rows = apps.get_model("store", name).objects.using(schema_editor.connection.alias)
        for row in rows.exclude(share_token=None).exclude(share_token="").only("pk", "share_token"):
            rows.filter(pk=row.pk).update(share_sha256=sha256(row.share_token.encode()).hexdigest())


class Migration(migrations.Migration):
    dependencies = [("store", "0001_pools_and_before")]

    operations = [
        *(
            migrations.AddField(
                model, "share_seed", models.CharField(blank=True, default="", max_length=64)
            )
            for model in SHARED
        ),
        *(
            migrations.AddField(
                model,
                "share_sha256",
                models.CharField(blank=True, max_length=64, null=True, unique=True),
            )
            for model in SHARED
        ),
        migrations.RunPython(keep_hashes, migrations.RunPython.noop, elidable=True),
        *(migrations.RemoveField(model, "share_token") for model in SHARED),
    ]
