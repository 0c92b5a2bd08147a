"""Run a program in a namespace: ``python -m testbed.namespaces.namespace_exec NAME PROGRAM …``.

The program is killed when the process that started it ends.
"""

import ctypes
import os
import signal
import sys

from testbed.namespaces import netns

_DEATH_SIGNAL = 1


def main(arguments: list[str]) -> None:
    """Enter and become it; raises ``OSError``."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    name, *command = arguments
    netns.enter(name)
    if os.getppid() == parent:
        os.execv(command[0], command)


__all__ = ["command", "main"]


def command(name: str, program: list[str]) -> list[str]:
    """The command line that does so."""
    return [sys.executable, "-S", "-m", "testbed.namespaces.namespace_exec", name, *program]


if __name__ == "__main__":
    main(sys.argv[1:])
