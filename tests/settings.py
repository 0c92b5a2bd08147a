"""Settings of the test run: those of the product, on a data folder of its own."""

import atexit
import os
import shutil
import tempfile

_FOLDER = tempfile.mkdtemp(prefix="nephoscope-test-")
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)
os.environ["NEPHOSCOPE_DATA"] = _FOLDER
os.environ["REDIS_URL"] = "redis://127.0.0.1:1/0"
_DATABASE_URL = os.environ.get("NEPHO_TESTS_DATABASE_URL")  # of tests.services
for _name in ("DATABASE_URL", "NEPHOSCOPE_NAME_SERVERS", "NEPHOSCOPE_ALLOWED_NETWORKS"):
    os.environ.pop(_name, None)
if _DATABASE_URL:
    os.environ["DATABASE_URL"] = _DATABASE_URL

from webapp.settings import *  # noqa: E402, F403

ALLOWED_HOSTS = ["*"]
# The shipped hasher takes a tenth of a second; a test of it reads the product's settings.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# A file in WAL mode, as the product's is. In memory, threads of one process would share a cache, in
# which who reads a table keeps writers out of it, without waiting for each other.
if not _DATABASE_URL:
    DATABASES["default"]["TEST"] = {"NAME": f"{_FOLDER}/test.sqlite3"}  # noqa: F405
