import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("store", "0003_accounts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='VantagePoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.SlugField(max_length=63, unique=True)),
                ('source', models.CharField(choices=[('own', 'Own'), ('globalping', 'Globalping'), ('atlas', 'Atlas'), ('synthetic', 'Synthetic')], default='own', max_length=12)),
                ('state', models.CharField(choices=[('invited', 'Invited'), ('joined', 'Joined'), ('draining', 'Draining'), ('revoked', 'Revoked')], default='invited', max_length=8)),
                ('city', models.CharField(blank=True, default='', max_length=80)),
                ('country', models.CharField(blank=True, default='', max_length=2)),
                ('continent', models.CharField(blank=True, default='', max_length=2)),
                ('lat', models.FloatField(blank=True, null=True)),
                ('lon', models.FloatField(blank=True, null=True)),
                ('provider', models.CharField(blank=True, default='', max_length=120)),
                ('asn', models.PositiveBigIntegerField(blank=True, null=True)),
                ('limits', models.JSONField(default=dict)),
                ('detail', models.JSONField(blank=True, default=dict)),
                ('secret_sha256', models.CharField(blank=True, default='', max_length=64)),
                ('instance', models.CharField(blank=True, default='', max_length=64)),
                ('version', models.CharField(blank=True, default='', max_length=40)),
                ('clock_offset_ms', models.FloatField(blank=True, null=True)),
                ('clock_doubt_ms', models.FloatField(blank=True, null=True)),
                ('public_address', models.GenericIPAddressField(blank=True, null=True)),
                ('load', models.JSONField(blank=True, default=dict)),
                ('note', models.CharField(blank=True, default='', max_length=300)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('joined_at', models.DateTimeField(blank=True, null=True)),
                ('last_seen_at', models.DateTimeField(blank=True, null=True)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='JoinToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sha256', models.CharField(max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(blank=True, null=True)),
                ('vantage', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to='store.vantagepoint')),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
    ]
