"""A wheel holds the product, and serves the filled demo where there is neither git nor make."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import urllib.request
from pathlib import Path

import pytest

from core.paths import default_data_folder
from core.release import VERSION
from tests.examples import THOROUGH
from tests.sites import free_port

ROOT = Path(__file__).resolve().parents[2]
NEVER_INSTALLED = ("*.egg-info", ".*", "build", "dist", "node_modules", "tests", "var")
DEMO_S = 300


def test_a_wheel_names_every_package_and_what_pages_read():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    wanted = {*settings["importlinter"]["root_packages"], "deploy", "fixtures", "templates"}
    included = settings["setuptools"]["packages"]["find"]["include"]
    assert {pattern.rstrip("*") for pattern in included} == wanted


def test_installed_packages_keep_data_in_the_folder_of_the_user(monkeypatch, tmp_path):
    assert default_data_folder() == ROOT / "var"
    monkeypatch.setattr("core.paths.PROJECT", tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert default_data_folder() == tmp_path / "data" / "nephoscope"


def build(folder):
    """A wheel of a copy of the tree, so that no folder of the build is left in it."""
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*NEVER_INSTALLED))
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder]
    subprocess.run([*command, source], check=True)
    return folder / f"nephoscope-{VERSION}-py3-none-any.whl"


def install(wheel, folder):
    """An empty environment with the locked packages and the wheel; its folder of programs."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "pip", "install", "-q", "--disable-pip-version-check"]
    lock = ROOT / "requirements" / "run.lock"
    subprocess.run([*pip, "--require-hashes", "-r", lock], check=True)
    subprocess.run([*pip, wheel], check=True)
    return folder / "bin"


def read_surveys(port):
    """The surveys of a site; none while it does not answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/surveys", timeout=5) as reply:
            return json.load(reply)["results"]
    except OSError:
        return []


@pytest.mark.skipif(not THOROUGH, reason="installs every package once more; see make thorough")
def test_a_wheel_serves_the_filled_demo_without_git_and_make(tmp_path):
    programs = install(build(tmp_path), tmp_path / "environment")
    env = {"HOME": str(tmp_path), "PATH": str(programs), "LANG": "C.UTF-8"}
    command = [str(programs / "nephoscope")]
    shown = subprocess.run([*command, "--version"], env=env, capture_output=True, text=True)
    assert shown.stdout == f"nephoscope {VERSION}\n", shown.stderr
    port = free_port()
    run = [*command, "run", "--port", str(port), "--scale", "1/2000"]
    with subprocess.Popen(run, env=env, cwd=tmp_path) as site:
        try:
            deadline = time.monotonic() + DEMO_S
            while not any(one["status"] == "finished" for one in read_surveys(port)):
                assert site.poll() is None
                assert time.monotonic() < deadline
                time.sleep(1)
        finally:
            os.kill(site.pid, signal.SIGTERM)
    assert site.returncode == 0
    assert (tmp_path / ".local/share/nephoscope/nephoscope.sqlite3").is_file()
