"""The manifest of files in object storage."""

from django.db import models


class StoredFile(models.Model):
    """A file of the data folder and the object that holds its content.

    Objects never change; a file that is written again gets another object.
    """

    # Below the data folder, with "/".
    path = models.CharField(max_length=400, unique=True)
    folder = models.CharField(max_length=400, db_index=True)
    key = models.CharField(max_length=100, unique=True)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    # Time of modification that copies have, by which a current one is known.
    modified_ns = models.BigIntegerField()
    created_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.path
