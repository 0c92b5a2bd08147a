"""``simulate``: documents of runs and of the list, and refusals by field."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError


def simulate(*argv):
    out = StringIO()
    call_command("simulate", *argv, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_a_run_gives_the_documented_document():
    text = simulate("topology", "--set", "kind=fat-tree", "--set", "k=4", "--seed", "7", "--json")
    found = json.loads(text)
    assert list(found) == [
        *("experiment", "parameters", "seed", "results", "events", "cpu_s", "wall_s"),
    ]
    assert found["parameters"]["k"] == 4
    by_name = {row["name"]: row for row in found["results"]}
    known = {"hosts": 16, "switches": 20, "links": 32, "paths_between_pods": 4, "bisection": 8}
    assert {name: by_name[name]["value"] for name in known} == known
    assert set(by_name["hosts"]) == {
        *("name", "value", "interval", "unit", "published", "tolerance", "within", "note"),
    }


def test_the_list_names_every_parameter_with_its_range():
    rows = json.loads(simulate("--list", "--json"))
    parameters = {p["name"]: p for row in rows for p in row["parameters"]}
    assert {"vm-scheduling", "topology"} <= {row["experiment"] for row in rows}
    assert parameters["slice_ms"]["minimum"] == 1
    assert "fat-tree" in parameters["kind"]["choices"]
    assert "slice_ms" in simulate("--list")


def test_lines_name_the_published_figure():
    lines = simulate("topology", "--set", "k=4").splitlines()
    assert any(line.startswith("hosts") and "published 16, within" in line for line in lines)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "NAME: name an experiment"),
        (["topolgy"], "did you mean topology"),
        (["topology", "--set", "k"], "set: 'k' is not NAME=VALUE"),
        (["topology", "--set", "k=7"], "k: 7 is not an even number"),
        (["vm-scheduling", "--set", "slice_ms=0"], "slice_ms: '0' is not a number from 1 to 100"),
        (["topology", "--seed", "-1"], "seed: -1 is not"),
    ],
)
def test_bad_parameters_are_one_error_that_names_the_field(argv, words):
    with pytest.raises(CommandError, match=words):
        simulate(*argv)
