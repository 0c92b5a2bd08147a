"""What every command does alike: refusals, help, letters, readers that go away, full disks."""

import os
import subprocess
import sys
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands, load_command_class

from tests import forks
from tests.stores import NAME, copy_store
from webapp.console import overview
from webapp.console.management.commands.resolve import Command

ROOT = Path(__file__).resolve().parents[2]
OURS = sorted(name for name, app in get_commands().items() if app == "webapp.console")
FULL = Path("/dev/full")


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """One data folder, so that its store is made once."""
    return copy_store(tmp_path_factory.mktemp("installation"))


def start(folder, *arguments, **kwargs):
    """A command as a person starts it; standard output is a pipe unless said otherwise."""
    env = {
        k: v for k, v in os.environ.items() if not k.startswith(("NEPHOSCOPE", "DJANGO", "DATAB"))
    }
    env |= {"NEPHOSCOPE_DATA": str(folder), **kwargs.pop("env", {})}
    command = [sys.executable, str(ROOT / "manage.py"), *map(str, arguments)]
    kwargs = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kwargs}
    return forks.run(command, env=env, text=True, stdin=subprocess.DEVNULL, **kwargs)


def refused_option(*argv):
    """What a person reads after a bad option, and the exit code."""
    command, err = load_command_class("webapp.console", argv[0]), StringIO()
    with redirect_stderr(err), pytest.raises(SystemExit) as end:
        command.run_from_argv(["manage.py", *argv])
    return err.getvalue(), end.value.code


@pytest.mark.parametrize("name", OURS)
def test_a_bad_option_is_refused_in_one_line_that_says_where_help_is(name):
    text, code = refused_option(name, "--no-such-option")
    assert code == 2
    assert text.startswith("error: ")
    assert text.endswith(f"(manage.py {name} --help tells more)\n")
    assert text.count("\n") == 1


def test_a_bad_option_of_an_action_names_the_actions_own_help():
    text, _ = refused_option("ranges", "diff", "aws", "--since", "2020")
    assert "--since" in text
    text, _ = refused_option("asn", "import", "--as-of", "2020-13-01", "x")
    assert text.endswith("(manage.py asn import --help tells more)\n")


@pytest.mark.parametrize("name", OURS)
def test_help_holds_the_commands_own_options_and_none_of_djangos(name, capsys):
    load_command_class("webapp.console", name).print_help("manage.py", name)
    text = capsys.readouterr().out
    assert "--json" in text
    assert "--pythonpath" not in text
    assert "--settings" not in text


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [(("--json", "list"), True), (("list", "--json"), True), (("list",), False)],
)
def test_json_may_stand_before_the_action_and_behind_it(arguments, wanted):
    parser = load_command_class("webapp.console", "ranges").create_parser("manage.py", "ranges")
    assert parser.parse_args(arguments).json is wanted


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (("ranges", "list"), "ranges import"),
        (("asn", "list"), "asn import"),
        (("packets", "list"), "packets import"),
        (("screening", "pools"), "screening new-pool"),
        (("account", "list"), "account create"),
    ],
)
def test_an_empty_list_says_what_fills_it(command, hint):
    out, err = StringIO(), StringIO()
    call_command(*command, stdout=out, stderr=err)
    assert out.getvalue() == ""
    assert f"manage.py {hint}" in err.getvalue()


def test_the_overview_names_every_command():
    named = {name for commands in overview.SUBJECTS.values() for name in commands}
    assert named - {"migrate"} == set(OURS)


def test_without_a_command_there_is_the_overview(tmp_path):
    done = start(tmp_path)
    assert done.returncode == 0
    assert "survey" in done.stdout
    assert done.stderr == ""


def test_a_first_command_makes_the_store(tmp_path):
    done = forks.manage(tmp_path / "new", "ranges", "list", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "new" / NAME).exists()


def test_bad_input_is_one_line_with_the_files_name_as_it_was_given(tmp_path):
    done = start(tmp_path, "regions", "recommend", "samples.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: cannot read samples.csv: there is no such file\n"


def test_a_reader_that_goes_away_is_no_error(installation):
    into, out = os.pipe()
    os.close(into)
    done = start(installation, "testbed", "truth", "tiny", stdout=out)
    os.close(out)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not FULL.exists(), reason="the system has no /dev/full")
def test_a_full_disk_is_one_line(installation):
    with FULL.open("w") as full:
        done = start(installation, "testbed", "truth", "tiny", stdout=full)
    assert done.returncode == 1
    assert done.stderr == "error: No space left on device\n"


def test_a_terminal_that_knows_few_letters_gets_all_of_them(tmp_path):
    names = tmp_path / "bücher.csv"
    done = start(tmp_path, "regions", "recommend", names, env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 2
    assert "b\\xfccher.csv" in done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NEPHOSCOPE_DATA", __file__),
        ("NEPHOSCOPE_DEBUG", "maybe"),
        ("NEPHOSCOPE_MAX_SURVEY_DOMAINS", "many"),
        ("DATABASE_URL", "nonsense"),
    ],
)
def test_a_setting_that_makes_no_sense_is_one_line(name, value, installation):
    done = start(installation, "ranges", "list", env={name: value})
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {name}: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08\0\0\0", b"a\0b\0"], ids=["gzip", "UTF-16"])
def test_names_to_resolve_are_plain_text(content, tmp_path):
    names = tmp_path / "names"
    names.write_bytes(content)
    done = start(tmp_path, "resolve", names, "--name-server", "127.0.0.1:1")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {names} is ")


@pytest.mark.parametrize("rate", ["nan", "inf", "0", "-1"])
def test_a_rate_is_a_number_above_zero(rate):
    err = StringIO()
    command = Command(stderr=err)
    with pytest.raises(SystemExit) as end:
        command.run_from_argv(["manage.py", "resolve", "-", "--rate", rate])
    assert end.value.code == 2
    assert err.getvalue() == "error: rate: must be more than 0\n"
