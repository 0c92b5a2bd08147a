"""``python -m testbed.namespaces.within NAMESPACE PROGRAM …``: become a program in a namespace.

It ends with the process that started it, so that nothing stays when that one is killed.
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
    return [sys.executable, "-S", "-m", "testbed.namespaces.within", name, *program]


if __name__ == "__main__":
    main(sys.argv[1:])
