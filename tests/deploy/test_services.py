"""Units and containers start what ``deploy/commands.py`` has, with settings that exist."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from deploy.commands import COMMANDS
from tasks.platform.app import QUEUES

ROOT = Path(__file__).resolve().parents[2]
UNITS = ROOT / "deploy/systemd"
COMPOSE = ROOT / "deploy/containers/compose.yml"
SETTINGS = set(
    re.findall(r"^\| `([A-Z_]+)`", (ROOT / "docs/reference/settings.md").read_text(), re.M)
)
# Only where the embedded Valkey serves.
_EMBEDDED = {"valkey"}


def services():
    document = yaml.safe_load(re.sub(r"\$\{[^}]*\}", "x", COMPOSE.read_text()))
    return {n: s for n, s in document["services"].items() if s["image"] == "nephoscope"}


def test_every_queue_has_a_worker():
    assert {name for name in COMMANDS if name in QUEUES} == set(QUEUES)
    for queue in QUEUES:
        command = COMMANDS[queue]()
        assert command[command.index("--queues") + 1] == queue


def test_containers_and_units_start_every_command():
    started = {service["command"][0] for service in services().values()}
    assert started == set(COMMANDS) - _EMBEDDED
    target = (UNITS / "nephoscope.target").read_text()
    named = set(re.findall(r"nephoscope@(\w+)\.service", target)) | {"migrate"}
    named |= {"web"} if "nephoscope-web@" in target else set()
    assert named == set(COMMANDS) - _EMBEDDED


def test_settings_exist():
    for service in services().values():
        assert set(service["environment"]) <= SETTINGS
    lines = (UNITS / "nephoscope.env").read_text().splitlines()
    names = {line.partition("=")[0] for line in lines if line and not line.startswith("#")}
    assert names
    assert names <= SETTINGS


def test_containers_wait_for_what_they_name():
    document = yaml.safe_load(re.sub(r"\$\{[^}]*\}", "x", COMPOSE.read_text()))
    for name, service in document["services"].items():
        assert set(service.get("depends_on", ())) <= set(document["services"]) - {name}
        assert set(service["networks"]) <= set(document["networks"])
        assert "ports" not in service or name in ("caddy", "gate")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_accepts_the_units(tmp_path):
    program = "/opt/nephoscope/.venv/bin/python"
    for path in UNITS.glob("*.*"):
        text = path.read_text().replace(program, sys.executable)
        (tmp_path / path.name).write_text(text)
    # Instances of templates: what the target names.
    names = ["nephoscope.target", "nephoscope@crawl.service", "nephoscope-web@8000.service"]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / name) for name in names)],
        capture_output=True,
        text=True,
    )
    ours = [line for line in (done.stdout + done.stderr).splitlines() if "nephoscope" in line]
    assert not ours


def test_an_unknown_service_is_one_line():
    done = subprocess.run(
        [sys.executable, "-m", "deploy.commands", "wbe"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: 'wbe' is not one of migrate, web, crawl")
