from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("store", "0002_recommendation")]

    operations = []
