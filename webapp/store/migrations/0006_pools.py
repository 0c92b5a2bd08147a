import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('auth', '__first__'),
        ('store', '0005_measurements'),
    ]

    operations = [
        migrations.CreateModel(
            name='Pool',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=24, unique=True)),
                ('name', models.CharField(max_length=120)),
                ('low', models.FloatField(default=13.0)),
                ('high', models.FloatField(default=65.0)),
                ('wanted', models.PositiveIntegerField(default=10)),
                ('price', models.FloatField(default=0.0)),
                ('currency', models.CharField(blank=True, default='', max_length=8)),
                ('share_seed', models.CharField(blank=True, default='', max_length=64)),
                ('share_sha256', models.CharField(blank=True, max_length=64, null=True, unique=True)),
                ('n_reports', models.PositiveBigIntegerField(default=0)),
                ('n_bytes', models.PositiveBigIntegerField(default=0)),
                ('revision', models.PositiveBigIntegerField(default=0)),
                ('network_revision', models.PositiveBigIntegerField(default=0)),
                ('analysed_revision', models.PositiveBigIntegerField(default=0)),
                ('tested_revision', models.PositiveBigIntegerField(default=0)),
                ('is_to_judge', models.BooleanField(default=False)),
                ('leased_until', models.DateTimeField(blank=True, null=True)),
                ('analysed_at', models.DateTimeField(blank=True, null=True)),
                ('findings', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('last_report_at', models.DateTimeField(blank=True, null=True)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='pools', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='PoolInstance',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=300)),
                ('machine', models.CharField(blank=True, default='', max_length=64)),
                ('addresses', models.JSONField(default=list)),
                ('host', models.JSONField(default=dict)),
                ('verdict', models.CharField(blank=True, default='', max_length=12)),
                ('sure', models.BooleanField(default=False)),
                ('judged_from', models.DateTimeField(blank=True, null=True)),
                ('stalls', models.PositiveIntegerField(default=0)),
                ('seconds', models.FloatField(default=0.0)),
                ('per_100s', models.FloatField(blank=True, null=True)),
                ('rate_low', models.FloatField(blank=True, null=True)),
                ('rate_high', models.FloatField(blank=True, null=True)),
                ('p999_ms', models.FloatField(blank=True, null=True)),
                ('good_chance', models.FloatField(blank=True, null=True)),
                ('cause', models.CharField(blank=True, default='', max_length=16)),
                ('truth', models.CharField(blank=True, default='', max_length=12)),
                ('truth_sure', models.BooleanField(default=False)),
                ('truth_p999_ms', models.FloatField(blank=True, null=True)),
                ('label', models.CharField(blank=True, default='', max_length=4)),
                ('n_reports', models.PositiveIntegerField(default=0)),
                ('first_seen_at', models.DateTimeField(blank=True, null=True)),
                ('last_seen_at', models.DateTimeField(blank=True, null=True)),
                ('pool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='instances', to='store.pool')),
            ],
            options={
                'ordering': ['name', 'id'],
            },
        ),
        migrations.CreateModel(
            name='PoolLog',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('kind', models.CharField(max_length=20)),
                ('sha256', models.CharField(max_length=64)),
                ('n_bytes', models.PositiveBigIntegerField()),
                ('series', models.JSONField(default=list)),
                ('n_series', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('pool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='logs', to='store.pool')),
            ],
            options={
                'ordering': ['-created_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='PoolToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(blank=True, default='', max_length=80)),
                ('prefix', models.CharField(max_length=16)),
                ('sha256', models.CharField(max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('pool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to='store.pool')),
            ],
            options={
                'ordering': ['-created_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='PoolReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('report_id', models.CharField(max_length=32)),
                ('fingerprint', models.CharField(max_length=64)),
                ('started_at', models.DateTimeField()),
                ('received_at', models.DateTimeField()),
                ('has_sleeps', models.BooleanField(default=False)),
                ('has_network', models.BooleanField(default=False)),
                ('has_battery', models.BooleanField(default=False)),
                ('verdict', models.CharField(blank=True, default='', max_length=12)),
                ('per_100s', models.FloatField(blank=True, null=True)),
                ('cause', models.CharField(blank=True, default='', max_length=16)),
                ('summary', models.JSONField(default=dict)),
                ('pack', models.CharField(max_length=80)),
                ('offset', models.PositiveBigIntegerField()),
                ('length', models.PositiveIntegerField()),
                ('instance', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reports', to='store.poolinstance')),
                ('pool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reports', to='store.pool')),
                ('token', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to='store.pooltoken')),
            ],
            options={
                'ordering': ['-started_at', '-id'],
            },
        ),
        migrations.AddConstraint(
            model_name='poolinstance',
            constraint=models.UniqueConstraint(fields=('pool', 'name', 'machine'), name='instance_once'),
        ),
        migrations.AddConstraint(
            model_name='poollog',
            constraint=models.UniqueConstraint(fields=('pool', 'sha256'), name='pool_log_once'),
        ),
        migrations.AddIndex(
            model_name='poolreport',
            index=models.Index(fields=['pool', 'received_at'], name='pool_report_arrival'),
        ),
        migrations.AddIndex(
            model_name='poolreport',
            index=models.Index(fields=['instance', 'started_at'], name='pool_report_history'),
        ),
        migrations.AddConstraint(
            model_name='poolreport',
            constraint=models.UniqueConstraint(fields=('pool', 'report_id'), name='pool_report_once'),
        ),
    ]
