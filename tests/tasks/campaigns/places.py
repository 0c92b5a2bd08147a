"""A links' broker with its door over TLS for tests in this process, and vantage points in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy import certificates, links
from tasks.platform.valkey_urls import authority
from tasks.vantage import credentials
from tasks.vantage_admin import enrolment
from tests import forks
from tests.tasks.site import ROOT, kill, wait


class Place:
    """The broker and its door, each a process that can be ended and started again."""

    def __init__(self, folder):
        self.folder = folder
        self.children = []
        try:
            certificates.ensure(folder / links.NAME, ["127.0.0.1"])
        except certificates.NoCertificate as error:
            pytest.skip(str(error))
        self.start()
        port_file = folder / "port"
        gate = links.gate_command(folder, "127.0.0.1", 0)
        self.gate = self.run(*gate, "--port-file", str(port_file))
        wait(lambda: port_file.exists() and port_file.read_text(), 20)
        self.port = int(port_file.read_text())

    def run(self, *command, env=None, **more):
        env = env or os.environ
        child = forks.Process(command, cwd=ROOT, env=env, start_new_session=True, **more)
        self.children.append(child)
        return child

    def start(self):
        self.broker = self.run(*links.command(self.folder), stdout=subprocess.DEVNULL)
        wait(lambda: links.answers(self.folder), 20)

    def join(self, name, **limits):
        """A vantage point of the store and its identity in a folder of its own."""
        _, token = enrolment.invite(name, {}, {"probes_per_s": 10_000} | limits)
        joined = enrolment.join(token, "192.0.2.1", "test")
        who = credentials.Identity(
            name=name,
            site="http://127.0.0.1:9",
            host="127.0.0.1",
            port=self.port,
            user=enrolment.USER + name,
            password=joined.password,
            authority=authority(),
            limits=joined.point.limits,
        )
        credentials.save(who, self.folder_of(name))
        return who

    def folder_of(self, name):
        return self.folder / "points" / name

    def work(self, name, **more):
        """The process of a vantage point."""
        hidden = ("NEPHOSCOPE", "DJANGO", "REDIS", "DATABASE")
        env = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
        command = [
            sys.executable,
            "-m",
            "tasks.vantage.joining",
            "--folder",
            str(self.folder_of(name)),
        ]
        child = self.run(*command, env=env, stdout=subprocess.PIPE, text=True, **more)
        assert "is measuring" in child.stdout.readline()
        return child

    def close(self):
        for child in reversed(self.children):
            if child.poll() is None:
                kill(child, 9)
            for stream in (child.stdout, child.stderr):
                if stream:
                    stream.close()


def open_place(folder: Path, monkeypatch):
    """A place whose broker the code of this process takes for the links' own."""
    monkeypatch.setenv("NEPHOSCOPE_DATA", str(folder))
    monkeypatch.delenv("NEPHOSCOPE_LINKS_URL", raising=False)
    return Place(folder)
