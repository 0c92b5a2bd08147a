from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("store", "0004_vantage_points")]

    operations = []
