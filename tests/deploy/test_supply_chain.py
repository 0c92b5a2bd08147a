"""Licences of all packages, and audits that tell vulnerabilities from a missing database."""

import csv
import json
import stat
import sys

import pytest

from deploy import supply_chain


def program(folder, output="", error="", code=0):
    """A program that writes this and ends with a code."""
    path = folder / "audit"
    text = (
        f"import sys\nsys.stdout.write({output!r})\nsys.stderr.write({error!r})\nsys.exit({code})"
    )
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return [path]


def test_every_locked_package_has_a_row_and_most_state_a_licence(tmp_path):
    path = tmp_path / "dist" / "licences.csv"
    n = supply_chain.write_licences(path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == n
    by_name = {row["name"]: row for row in rows}
    assert {name for name, _ in supply_chain.locked(supply_chain.RUN_LOCK)} <= set(by_name)
    assert by_name["django"]["licence"] == "BSD-3-Clause"
    assert by_name["leaflet"]["source"] == "npm"
    assert not {"prettier", "axe-core"} & set(by_name)
    stated = [row for row in rows if row["licence"] != "not stated"]
    assert len(stated) > 0.8 * n, [row["name"] for row in rows if row not in stated]


def test_vulnerabilities_are_found_in_reports_of_both_tools(tmp_path):
    packages = [
        {"name": "a", "version": "1", "vulns": [{"id": "CVE-1"}]},
        {"name": "b", "version": "2"},
    ]
    of_pip = program(tmp_path, json.dumps({"dependencies": packages}), code=1)
    assert supply_chain.audit(of_pip) == ["a 1: CVE-1"]
    of_npm = program(tmp_path, json.dumps({"vulnerabilities": {"x": {"severity": "high"}}}), code=1)
    assert supply_chain.audit(of_npm) == ["x: high"]
    assert supply_chain.audit(program(tmp_path, '{"vulnerabilities": {}}')) == []


@pytest.mark.parametrize(
    ("output", "error", "reason"),
    [
        ("", "Traceback\nConnectionError: no route to host", "no route to host"),
        ('{"error": {"code": "E405", "summary": "not allowed"}}', "", "not allowed"),
        ('{"message": "405 Method Not Allowed"}', "", "405"),
        ("", "", "no output"),
    ],
)
def test_an_audit_without_a_database_is_not_a_clean_one(tmp_path, output, error, reason):
    with pytest.raises(supply_chain.NotReached, match=reason):
        supply_chain.audit(program(tmp_path, output, error, code=1))


def test_only_a_vulnerability_fails(tmp_path, monkeypatch, capsys):
    found = {"name": "a", "version": "1", "vulns": [{"id": "CVE-1"}]}
    (tmp_path / "away").mkdir()
    commands = {"npm": program(tmp_path / "away", error="ECONNREFUSED", code=1)}
    monkeypatch.setattr(supply_chain, "audits", lambda: commands)
    assert supply_chain.run_audits() == 0
    assert (
        "skipped: no result of the audit of npm packages: ECONNREFUSED" in capsys.readouterr().out
    )
    commands["PyPI"] = program(tmp_path, json.dumps({"dependencies": [found]}), code=1)
    assert supply_chain.run_audits() == 1
    assert "CVE-1" in capsys.readouterr().out
