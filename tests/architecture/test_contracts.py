import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
# Folders that are no part of the layered house.
OUTSIDE = {"tests", "benchmarks", "deploy", "docs", "fixtures", "templates", "node_modules", "var"}


def test_a_vantage_worker_loads_neither_django_nor_the_store():
    """An import in ``tasks/__init__.py`` is not charged to ``tasks.vantage.celery_tasks`` by the
    contract.

    Celery's own JSON module looks for one class of Django where that is installed, so what must
    be absent are the parts that hold settings, applications and the database.
    """
    code = (
        "import sys; import tasks.vantage.celery_tasks; "
        "kept = ('django.conf', 'django.apps', 'django.db', 'webapp', 'duckdb'); "
        "print([m for m in kept if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env={"PATH": "/bin"}
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_every_package_stands_in_the_contract():
    """A new top-level package is invisible to the contract until it is listed."""
    packages = {p.parent.name for p in ROOT.glob("*/__init__.py")} - OUTSIDE
    assert packages == set(CONTRACT["root_packages"])
