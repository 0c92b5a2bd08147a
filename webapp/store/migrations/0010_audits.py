"""Audits, saved domain lists and policies, suppressions; share links open audits too."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("store", "0009_surveys_and_campaigns"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Audit",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("leased_until", models.DateTimeField(blank=True, null=True)),
                ("error", models.TextField(blank=True, default="")),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("slug", models.SlugField(max_length=120, unique=True)),
                ("name", models.CharField(max_length=200)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("surveying", "Surveying"),
                            ("running", "Running"),
                            ("finished", "Finished"),
                            ("partial", "Partial"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("domains", "Domains"),
                            ("domain-list", "Domain List"),
                            ("survey", "Survey"),
                        ],
                        max_length=12,
                    ),
                ),
                ("list_sha256", models.CharField(max_length=64)),
                ("policy_name", models.CharField(max_length=80)),
                ("policy_sha256", models.CharField(max_length=64)),
                ("policy_document", models.TextField()),
                ("suppressions", models.JSONField(blank=True, default=list)),
                ("fail_on", models.CharField(max_length=8)),
                ("strict", models.BooleanField(default=False)),
                ("list_path", models.CharField(blank=True, default="", max_length=400)),
                ("progress", models.JSONField(blank=True, default=dict)),
                ("report", models.JSONField(blank=True, default=dict)),
                ("groups", models.JSONField(blank=True, default=list)),
                ("exit_code", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("request_sha256", models.CharField(blank=True, default="", max_length=64)),
                ("idempotency_key", models.CharField(blank=True, max_length=120, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-created_at", "-id"],
            },
        ),
        migrations.CreateModel(
            name="AuditSuppression",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("rule", models.CharField(max_length=80)),
                ("subject", models.CharField(max_length=255)),
                ("fingerprint", models.CharField(blank=True, default="", max_length=64)),
                ("reason", models.CharField(max_length=1000)),
                ("accepted_by", models.CharField(max_length=200)),
                ("expires", models.DateField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-created_at", "-id"],
            },
        ),
        migrations.CreateModel(
            name="SavedList",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.SlugField(max_length=120, unique=True)),
                ("name", models.CharField(max_length=200)),
                ("sha256", models.CharField(max_length=64)),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("changed_at", models.DateTimeField()),
                ("n_domains", models.PositiveIntegerField()),
                ("n_duplicates", models.PositiveIntegerField(default=0)),
                ("n_rejected", models.PositiveIntegerField(default=0)),
                ("rejected", models.JSONField(default=list)),
                ("notes", models.JSONField(default=list)),
            ],
            options={
                "ordering": ["name", "id"],
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="SavedPolicy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.SlugField(max_length=120, unique=True)),
                ("name", models.CharField(max_length=200)),
                ("sha256", models.CharField(max_length=64)),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("changed_at", models.DateTimeField()),
                ("document", models.TextField()),
                ("rules", models.JSONField(default=list)),
            ],
            options={
                "ordering": ["name", "id"],
                "abstract": False,
            },
        ),
        migrations.RemoveConstraint(
            model_name="sharelink",
            name="share_link_opens_one",
        ),
        migrations.AddField(
            model_name="audit",
            name="campaign",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="audits",
                to="store.campaign",
            ),
        ),
        migrations.AddField(
            model_name="audit",
            name="maker",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="audit",
            name="owner",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="audits",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="audit",
            name="previous",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="following",
                to="store.audit",
            ),
        ),
        migrations.AddField(
            model_name="audit",
            name="survey",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="audits",
                to="store.survey",
            ),
        ),
        migrations.AddField(
            model_name="sharelink",
            name="audit",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="share_links",
                to="store.audit",
            ),
        ),
        migrations.AddConstraint(
            model_name="sharelink",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("audit__isnull", True),
                        ("campaign__isnull", True),
                        ("survey__isnull", False),
                    ),
                    models.Q(
                        ("audit__isnull", True),
                        ("campaign__isnull", False),
                        ("survey__isnull", True),
                    ),
                    models.Q(
                        ("audit__isnull", False),
                        ("campaign__isnull", True),
                        ("survey__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="share_link_opens_one",
            ),
        ),
        migrations.AddField(
            model_name="auditsuppression",
            name="owner",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="audit_suppressions",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="savedlist",
            name="owner",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="audit",
            name="saved_list",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="audits",
                to="store.savedlist",
            ),
        ),
        migrations.AddField(
            model_name="savedpolicy",
            name="owner",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="auditsuppression",
            name="policy",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="saved_suppressions",
                to="store.savedpolicy",
            ),
        ),
        migrations.AddField(
            model_name="audit",
            name="saved_policy",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="audits",
                to="store.savedpolicy",
            ),
        ),
        migrations.AddIndex(
            model_name="audit",
            index=models.Index(fields=["state", "leased_until"], name="audit_state"),
        ),
        migrations.AddIndex(
            model_name="audit",
            index=models.Index(fields=["maker", "list_sha256", "policy_name"], name="audit_series"),
        ),
        migrations.AddConstraint(
            model_name="audit",
            constraint=models.UniqueConstraint(
                condition=models.Q(("maker__isnull", False)),
                fields=("maker", "idempotency_key"),
                name="audit_key_of_maker",
            ),
        ),
        migrations.AddConstraint(
            model_name="audit",
            constraint=models.UniqueConstraint(
                condition=models.Q(("maker__isnull", True)),
                fields=("idempotency_key",),
                name="audit_key_of_nobody",
            ),
        ),
    ]
