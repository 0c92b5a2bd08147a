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
KUBERNETES = ROOT / "deploy/kubernetes"
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


def manifests():
    """All documents of all manifests, by file."""
    return {
        path: list(yaml.safe_load_all(path.read_text()))
        for path in sorted(KUBERNETES.rglob("*.yaml"))
    }


def pods():
    """The name, and the pod, of each deployment that runs the product."""
    documents = [one for found in manifests().values() for one in found]
    return [
        (one["metadata"]["name"], one["spec"]["template"])
        for one in documents
        if one["kind"] == "Deployment"
    ]


def test_kubernetes_starts_every_command():
    named = [c for _, pod in pods() for c in pod["spec"]["containers"]]
    named += [c for _, pod in pods() for c in pod["spec"]["initContainers"]]
    assert {c["args"][0] for c in named if "args" in c} == set(COMMANDS) - _EMBEDDED
    migrating = [n for n, pod in pods() if pod["spec"]["initContainers"][0]["name"] == "migrate"]
    assert migrating == ["beat"]
    lines = (KUBERNETES / "settings.env").read_text().splitlines()
    assert {line.partition("=")[0] for line in lines} <= SETTINGS


def test_kustomizations_name_every_manifest():
    for path, documents in manifests().items():
        if path.name == "kustomization.yaml":
            listed = documents[0]["resources"]
            files = {p.name for p in path.parent.glob("*.yaml")} - {path.name}
            assert set(listed) - {"../"} == files


def test_pods_have_no_rights_and_a_limit_of_memory():
    for _, pod in pods():
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"]
        assert not spec["automountServiceAccountToken"]
        for container in (*spec["initContainers"], *spec["containers"]):
            rights = container["securityContext"]
            assert rights["capabilities"] == {"drop": ["ALL"]}
            assert not rights["allowPrivilegeEscalation"]
        assert all(c["resources"]["limits"]["memory"] for c in spec["containers"])


def test_services_of_kubernetes_reach_a_port_of_a_pod():
    every = [one for found in manifests().values() for one in found]
    workloads = {
        one["spec"]["selector"]["matchLabels"]["app.kubernetes.io/name"]: one["spec"]["template"]
        for one in every
        if one["kind"] in ("Deployment", "StatefulSet")
    }
    services = [one["spec"] for one in every if one["kind"] == "Service"]
    assert len(services) == 4
    for service in services:
        pod = workloads[service["selector"]["app.kubernetes.io/name"]]
        ports = [p for c in pod["spec"]["containers"] for p in c.get("ports", ())]
        known = {p["name"] for p in ports} | {p["containerPort"] for p in ports}
        for port in service["ports"]:
            assert port.get("targetPort", port["port"]) in known


def test_the_volume_is_on_one_node_and_only_crawlers_do_without():
    claim = yaml.safe_load((KUBERNETES / "storage.yaml").read_text())
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
    without = [n for n, pod in pods() if "persistentVolumeClaim" not in pod["spec"]["volumes"][0]]
    assert without == ["crawl-elsewhere"]


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
