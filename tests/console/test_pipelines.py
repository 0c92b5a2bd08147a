"""The scripts of docs/how-to/audit-in-a-pipeline.md, run as a pipeline runs them."""

import gzip
import json
import re
import subprocess
import sys

import pytest
import yaml
from junitparser import JUnitXml

from tests.audits.sarif import validate_sarif
from tests.console.test_survey import ROOT, Installation
from tests.tasks.site import HANGS_S

pytestmark = pytest.mark.services

WORLD = ("audits", "--scale", "1/30", "--seed", "3")
GUIDE = (ROOT / "docs" / "how-to" / "audit-in-a-pipeline.md").read_text()
# What GitHub takes of one upload.
MAX_GZIP_BYTES = 10_000_000
POLICY = 'version = 1\nname = "shop"\n[rules.single-region]\n'
SUPPRESSION = """
[[suppressions]]
rule = "single-region"
subject = "{}"
reason = "static pages, rebuilt in an hour"
owner = "platform team"
expires = 2099-12-31
"""


def section(title, language):
    """The code of a section of the guide."""
    text = GUIDE.split(f"## {title}\n", 1)[1].split("\n## ")[0]
    return re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)[1]


def script_of(title):
    """What the runner executes, and the report that it hands over."""
    if title == "Any pipeline":
        return section(title, "sh"), "audit.xml"
    document = yaml.safe_load(section(title, "yaml"))
    if title == "GitHub Actions":
        audit, upload = document
        assert audit["run"].split(" -o ")[1] == upload["with"]["sarif_file"]
        assert "always()" in upload["if"]
        return audit["run"], upload["with"]["sarif_file"]
    if title == "GitLab":
        job = document["audit"]
        assert job["artifacts"]["when"] == "always"
        return "\n".join(job["script"]), job["artifacts"]["reports"]["codequality"]
    (hook,) = document[0]["hooks"]
    assert hook["language"] == "system"
    assert not hook["pass_filenames"]
    for name in ("domains.txt", "policy.toml"):
        assert re.search(hook["files"], name)
    return hook["entry"], None


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return Installation(tmp_path_factory.mktemp("pipeline"))


@pytest.fixture(scope="module")
def runner(site):
    """A checkout with a list and a policy, whose name server is the emulated Internet."""
    server, port, _ = site.serve_testbed(*WORLD)
    checkout = site.folder / "checkout"
    checkout.mkdir()
    (checkout / "manage.py").symlink_to(ROOT / "manage.py")
    (checkout / ".venv").symlink_to(sys.prefix)
    site.env["NEPHOSCOPE_NAME_SERVERS"] = f"127.0.0.1:{port}"
    yield checkout
    server.terminate()
    server.wait(HANGS_S)


@pytest.fixture(scope="module")
def planted(site):
    """A domain in a single region."""
    code, out, err = site.run("testbed", "truth", *WORLD, "--json")
    assert code == 0, err
    return min(
        domain for rule, domain, _ in json.loads(out)["violations"] if rule == "single-region"
    )


def run(site, checkout, script, policy, domain):
    """The exit code of a script, as GitHub and GitLab start it: stopped by the first error."""
    (checkout / "policy.toml").write_text(policy)
    (checkout / "domains.txt").write_text(f"# of the shop\n{domain}\n")
    shell = ["sh"] if script.startswith("#!") else ["bash", "-e"]
    done = subprocess.run(
        [*shell, "-c", script],
        cwd=checkout,
        env=site.env,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode


@pytest.mark.parametrize("title", ["Any pipeline", "GitHub Actions", "GitLab", "pre-commit"])
def test_a_planted_domain_fails_the_build_and_a_suppression_lets_it_pass(
    site, runner, planted, title
):
    script, report = script_of(title)
    assert len(script.splitlines()) <= 11
    assert run(site, runner, script, POLICY, planted) == 1
    if report:
        READERS[title](runner / report, planted)
    if title in ("GitLab", "pre-commit"):
        return  # They take the exit code of the same command.
    passing = POLICY + SUPPRESSION.format(planted)
    assert run(site, runner, script, passing, planted) == 0


def test_a_policy_with_a_mistake_fails_the_build(site, runner, planted):
    script, _ = script_of("Any pipeline")
    assert run(site, runner, script, POLICY + "allowd = 1\n", planted) == 2


def read_junit(path, planted):
    """With the parser that Python's CI tools use; its counts are the ones of the cases."""
    suites = JUnitXml.fromfile(str(path))
    assert [suite.name for suite in suites] == ["single-region"]
    suite = next(iter(suites))
    cases = list(suite)
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (len(cases), 1, 0, 0)
    (failed,) = [case for case in cases if case.result]
    assert failed.name.startswith(f"{planted} ")
    assert failed.classname == "single-region"
    (result,) = failed.result
    assert type(result).__name__ == "Failure"
    assert result.text
    before = (suite.tests, suite.failures)
    suites.update_statistics()
    assert (suites.tests, suites.failures) == before


def read_code_quality(path, planted):
    (row,) = json.loads(path.read_text())
    assert row["location"] == {"path": "domains.txt", "lines": {"begin": 2}}
    assert planted in row["description"]
    assert {"check_name", "fingerprint", "severity"} <= set(row)


def read_sarif(path, planted):
    data = path.read_bytes()
    (run_,) = json.loads(data)["runs"]
    (result,) = run_["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("domains.txt", 2)
    assert planted in result["message"]["text"]
    assert len(gzip.compress(data)) < MAX_GZIP_BYTES
    validate_sarif(path)


READERS = {
    "Any pipeline": read_junit,
    "GitHub Actions": read_sarif,
    "GitLab": read_code_quality,
}
