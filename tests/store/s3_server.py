"""An S3 server on loopback, as a process of its own that can be stopped and started again."""

import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.parse import urlencode

import pytest
from pyarrow import fs

from tests.sites import free_port

BUCKET = "measurements"
_SERVE = """
import logging, sys
logging.disable(logging.CRITICAL)
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(sys.argv[2], int(sys.argv[1]), verbose=False)
server.start()
sys.stdin.read()
"""
_START_S = 120


def serve_command(port, host="127.0.0.1"):
    """The server's command line; it ends when its standard input is closed."""
    return [sys.executable, "-c", _SERVE, str(port), host]


class S3Server:
    """A server with one bucket; what it holds is lost when it ends."""

    def __init__(self):
        self.port = free_port()
        self.process = None

    @property
    def url(self):
        endpoint = urlencode({"endpoint": f"http://127.0.0.1:{self.port}"})
        return f"s3://{BUCKET}/lake?{endpoint}"

    @property
    def settings(self):
        return {
            "NEPHOSCOPE_LAKE_URL": self.url,
            "NEPHOSCOPE_LAKE_ACCESS_KEY": "key",
            "NEPHOSCOPE_LAKE_SECRET_KEY": "secret",
        }

    def start(self):
        self.process = subprocess.Popen(
            serve_command(self.port),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + _START_S
        while True:
            try:
                self.client().create_dir(BUCKET)
                return
            except OSError:
                assert time.monotonic() < deadline, "the S3 server did not start"
                time.sleep(0.1)

    def client(self):
        return fs.S3FileSystem(
            endpoint_override=f"127.0.0.1:{self.port}",
            scheme="http",
            access_key="key",
            secret_key="secret",
            region="us-east-1",
            allow_bucket_creation=True,
            request_timeout=20,
        )

    def stop(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


@contextmanager
def run_s3_server():
    """A running server; skipped with the reason where moto is not installed."""
    pytest.importorskip("moto", reason="moto is not installed")
    server = S3Server()
    server.start()
    try:
        yield server
    finally:
        server.stop()
