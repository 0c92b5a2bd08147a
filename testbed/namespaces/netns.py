"""Named network namespaces: creation, entry, removal, also of those of dead laboratories.

Names carry the number of the process that made them, and a lock that its death gives up.
"""

import ctypes
import fcntl
import itertools
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

RUN = Path("/run/netns")
LOCKS = Path("/run/nephoscope-lab")
_NAME = re.compile(r"^neph(\d+)\.\d+-")
_NEWNET = 0x40000000
_BIND, _RECURSIVE, _SHARED, _DETACH = 0x1000, 0x4000, 0x100000, 0x2
# Where tools of the administrator stand; the path of one who became root may not name it.
_TOOLS = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"
_libc = ctypes.CDLL(None, use_errno=True)
_held: list[int] = []
_numbers = itertools.count(1)
T = TypeVar("T")


def new_prefix() -> str:
    """The beginning of the names of a new laboratory of this process; raises ``OSError``."""
    if not _held:
        LOCKS.mkdir(parents=True, exist_ok=True)
        number = os.open(LOCKS / str(os.getpid()), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Held until this process ends: the lock shows that it is alive.
        _held.append(number)
    return f"neph{os.getpid()}.{next(_numbers)}-"


def add(name: str) -> None:
    """Make a namespace that stays until it is removed; raises ``OSError``."""
    _share_mount()
    place = RUN / name
    place.touch(mode=0o444, exist_ok=False)

    def create() -> None:
        unshare()
        bind_to_file(place)

    run_in_thread(create)


def _share_mount() -> None:
    """Make the folder a shared mount, as ``ip netns add`` does; raise ``OSError``.

    Where that command is the first to do so, it binds each namespace that is there a second time,
    and the first mount can no longer be removed.
    """
    RUN.mkdir(parents=True, exist_ok=True)
    own = str(RUN).encode()
    handle = os.open(RUN, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # ip takes the same lock
        if _libc.mount(b"", own, b"none", _SHARED | _RECURSIVE, None):
            _call(_libc.mount, own, own, b"none", _BIND | _RECURSIVE, None)
            _call(_libc.mount, b"", own, b"none", _SHARED | _RECURSIVE, None)
    finally:
        os.close(handle)


def unshare() -> None:
    """Have this thread be in a new namespace; raises ``OSError``."""
    _call(_libc.unshare, _NEWNET)


def bind_to_file(place: Path) -> None:
    """Bind the namespace of this thread to a file, by which it stays; raises ``OSError``."""
    own = f"/proc/self/task/{threading.get_native_id()}/ns/net"
    _call(_libc.mount, own.encode(), str(place).encode(), b"none", _BIND, None)


def find_tool(name: str) -> str | None:
    """The position of a tool, also one that only the administrator's path names."""
    return shutil.which(name) or shutil.which(name, path=_TOOLS)


def run_inside(name: str, work: Callable[[], T]) -> T:
    """Do something in a namespace, in a thread that ends with it; its error is raised here."""

    def run() -> T:
        enter(name)
        return work()

    return run_in_thread(run)


def enter(name: str) -> None:
    """Have this thread be in a namespace from now on; raises ``OSError``."""
    with (RUN / name).open() as handle:
        _call(_libc.setns, handle.fileno(), _NEWNET)


def remove(names: Iterable[str]) -> None:
    """Remove namespaces; what lives in them goes with them."""
    for name in names:
        _libc.umount2(str(RUN / name).encode(), _DETACH)
        (RUN / name).unlink(missing_ok=True)


def names_of(pid: int) -> list[str]:
    """The namespaces that a process made."""
    return [name for owner, name in _all() if owner == pid]


def remove_stale() -> list[str]:
    """Remove the namespaces of laboratories with an ended process; return their names."""
    dead = [name for owner, name in _all() if not is_alive(owner)]
    remove(dead)
    for lock in LOCKS.glob("*") if LOCKS.is_dir() else ():
        if not is_alive(int(lock.name)):
            lock.unlink(missing_ok=True)
    return dead


def is_alive(pid: int) -> bool:
    """Whether the process of a laboratory still holds its lock."""
    try:
        with (LOCKS / str(pid)).open("r+") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def list_laboratories() -> dict[int, int]:
    """Living laboratories: the process, and how many namespaces it has."""
    owners = [owner for owner, _ in _all()]
    return {owner: owners.count(owner) for owner in sorted(set(owners)) if is_alive(owner)}


def batch(
    name: str, lines: Iterable[str], *, tool: tuple[str, ...] = ("ip",), force: bool = False
) -> None:
    """Run a batch of ``ip`` or ``tc`` commands in a namespace; raise ``OSError`` with the message.

    With ``force`` a command that fails does not keep the others back.
    """
    text = "\n".join(lines)
    program = [find_tool(tool[0]) or tool[0], *tool[1:]]
    command = [*program, "-n", name, *(["-force"] if force else []), "-batch", "-"]
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    if done.returncode and not force:
        raise OSError(f"{tool[0]} in {name}: {done.stderr.strip()[:400]}")


def run_in_thread(work: Callable[[], T]) -> T:
    """Run ``work`` in a new thread; its error is raised here."""
    found: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:  # noqa: BLE001 - it is raised again by who waits.
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]


def _all() -> list[tuple[int, str]]:
    names = sorted(p.name for p in RUN.iterdir()) if RUN.is_dir() else []
    return [(int(m[1]), name) for name in names if (m := _NAME.match(name))]


def _call(function: Callable[..., int], *given: object) -> None:
    if function(*given):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
