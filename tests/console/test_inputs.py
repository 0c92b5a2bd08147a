"""Arguments that name a file: ``-`` is standard input and ``--`` ends the options, everywhere."""

import argparse
import io
import json
import os
import sys
from pathlib import Path

import pytest
from django.core.management import call_command, load_command_class
from django.core.management.base import CommandError

from core.errors import BadInput
from tests import forks
from tests.stores import copy_store
from webapp.console import input_files
from webapp.console.overview import SUBJECTS

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = [name for names in SUBJECTS.values() for name in names if name != "migrate"]
READS = (input_files.input_file, input_files.input_file_of)
# Files and folders that are written, folders of files, and the list that is read line by line.
OTHERS = {
    ("audit", "output"),
    ("audit", "policy"),
    ("survey", "out"),
    ("resolve", "output"),
    ("resolve", "names_file"),
    ("zones infer", "output"),
    ("backup", "folder"),
    ("study records", "folder"),
    ("study records", "out"),
    ("study portable", "folder"),
    # Read as they come, standard input too: a copy would keep client addresses on disk.
    ("regions clients", "log"),
}
FILE_WORDS = ("FILE", "LOG", "TRACES", "SAMPLES", "FOLDER", "DIR")


def parser_of(name):
    return load_command_class("webapp.console", name).create_parser("manage.py", name)


def walk(parser, prefix):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                yield from walk(sub, f"{prefix} {name}")
        else:
            yield prefix, parser, action


EVERY = [row for name in COMMANDS for row in walk(parser_of(name), name)]
FILES = [row for row in EVERY if row[2].type in READS]


def title(row):
    return f"{row[0]} {row[2].dest}" if isinstance(row, tuple) else str(row)


def line_for(prefix, parser, action, text):
    """A command line that names ``text`` as the file, and what else must be there."""
    needed = [
        a
        for a in parser._actions
        if not a.option_strings and (a is action or a.nargs not in ("?", "*"))
    ]
    before, after = prefix.split()[1:], []
    text = f"aws={text}" if action.type is input_files.input_file_of else text
    for other in needed:
        after.append(text if other is action else "1")
    if action.option_strings:
        before.append(f"{action.option_strings[0]}={text}")
    return [*before, "--", *after] if after else before


def given(options, action):
    value = getattr(options, action.dest)
    value = value[0] if isinstance(value, list) else value
    return value[1] if isinstance(value, tuple) else value


def test_every_argument_that_names_a_file_says_so():
    named = {
        (prefix, action.dest)
        for prefix, _, action in EVERY
        if str(action.metavar).partition("=")[2] in ("F", "FILE")
        or str(action.metavar) == "F"
        or str(action.metavar).endswith(FILE_WORDS)
    }
    assert named - {(prefix, action.dest) for prefix, _, action in FILES} == OTHERS
    assert len(FILES) >= 40


@pytest.mark.parametrize("row", FILES, ids=title)
def test_a_name_may_begin_with_a_hyphen(row):
    prefix, parser, action = row
    if action.nargs is None and not action.option_strings:
        # A dash alone is no option: it needs no "--" before it.
        line = [part for part in line_for(prefix, parser, action, "-") if part != "--"]
        assert given(parser_of(prefix.split()[0]).parse_args(line), action) == Path("/dev/stdin")
    line = line_for(prefix, parser, action, "-odd")
    options = parser_of(prefix.split()[0]).parse_args(line)

    assert given(options, action) == Path("-odd")


@pytest.mark.django_db
@pytest.mark.parametrize("row", FILES, ids=title)
def test_a_hyphen_is_standard_input(row, monkeypatch):
    prefix, parser, action = row
    name = prefix.split()[0]
    command = load_command_class("webapp.console", name)
    options = parser_of(name).parse_args(line_for(prefix, parser, action, "-"))
    read = []
    command.handle = lambda *args, **own: read.append(
        given(argparse.Namespace(**own), action).read_bytes()
    )
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\x1f\x8b\x00text\n")))
    command.execute(**vars(options))

    assert read == [b"\x1f\x8b\x00text\n"]


def test_standard_input_is_read_for_one_file_only():
    options = {
        "files": [input_files.STANDARD_INPUT],
        "ranges": [("aws", input_files.STANDARD_INPUT)],
    }

    with (
        pytest.raises(BadInput, match="one file only"),
        input_files.standard_input_as_file(options),
    ):
        pass


def manage(*line, data, folder):
    return forks.run(
        [sys.executable, ROOT / "manage.py", *line],
        input=data,
        capture_output=True,
        env={
            **os.environ,
            "NEPHOSCOPE_DATA": str(copy_store(folder / "data")),
            "DJANGO_SETTINGS_MODULE": "webapp.settings",
        },
        cwd=folder,
        check=False,
    )


ATLAS = [
    {
        "msm_id": 1,
        "prb_id": 7,
        "type": "traceroute",
        "timestamp": 1364515200,
        "af": 4,
        "src_addr": "192.168.1.2",
        "from": "192.0.2.7",
        "dst_addr": "198.51.100.1",
        "dst_name": "198.51.100.1",
        "proto": "ICMP",
        "paris_id": 1,
        "endtime": 1364515201,
        "result": [
            {"hop": n, "result": [{"from": a, "rtt": 1.5 * n, "size": 28, "ttl": 60}]}
            for n, a in enumerate(("192.0.2.1", "203.0.113.1", "198.51.100.1"), 1)
        ],
    }
]
ASN = b"192.0.2.0/24\t64500\n203.0.113.0/24\t64501\n198.51.100.0/24\t64502\n"
ZEEK = (
    "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n"
    "#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\n"
    "#types\ttime\tstring\taddr\tport\taddr\tport\tenum\n"
    "1364515200.0\tC1\t192.0.2.7\t4242\t198.51.100.1\t443\ttcp\n"
)


def test_commands_read_what_is_piped_into_them(tmp_path):
    """In processes of their own, from a pipe, and from a file whose name begins with a hyphen."""
    (tmp_path / "asn.dat").write_bytes(ASN)
    traces = json.dumps(ATLAS).encode()
    (tmp_path / "-traces.json").write_bytes(traces)
    line = ["isp-diversity", "--json", "--asn", "asn.dat"]
    piped = manage(*line, "-", data=traces, folder=tmp_path)
    named = manage(*line, "--", "-traces.json", data=b"", folder=tmp_path)

    assert (piped.returncode, b"error" in piped.stderr) == (0, False)
    assert json.loads(piped.stdout)["traces"]["results"] == 1
    assert piped.stdout == named.stdout
    done = manage("campaign", "import", "-", "--name", "one", data=traces, folder=tmp_path)
    assert (done.returncode, b"one" in done.stderr) == (0, True)
    aws = (ROOT / "fixtures" / "ranges" / "aws-sample.json").read_bytes()
    assert manage("ranges", "import", "aws", "-", data=aws, folder=tmp_path).returncode == 0
    done = manage("packets", "import", "-", "--json", data=ZEEK.encode(), folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["logs"][0]["rows"] == 1


@pytest.mark.django_db
def test_what_cannot_be_read_is_told_in_one_line(tmp_path):
    with pytest.raises(CommandError, match=r"cannot read .*none\.csv"):
        call_command("asn", "import", str(tmp_path / "none.csv"))
