"""Load the compiled loop of bulk runs, where this machine can have it."""

import ctypes
import logging
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from core import jit
from core.native import object_code
from crawlers.compiled.slots import Step

_FOLDER = Path(__file__).parent
_CALLS = ("clock_gettime", "nanosleep", "ppoll", "recvmmsg", "sendmmsg", "__errno_location")
_STEP = object_code.Named("crawlers.compiled.exchange", "step", _CALLS)
_GATHER = object_code.Named("crawlers.files.gathering", "gather")
# What the loop is made of, besides the compiler.
_PARTS = ("exchange", "layout", "names", "records", "replies", "sending", "system_calls", "text")
_GATHER_FILE = _FOLDER.parent / "files" / "gathering.py"

log = logging.getLogger(__name__)


def load_step(announce: Callable[[], None] | None) -> Step | None:
    """The loop, or nothing where the platform cannot have it.

    Where it is not compiled yet, it is compiled after ``announce()``; without that there is none.
    """
    if not is_possible():
        return None
    sources = [_FOLDER / f"{part}.py" for part in _PARTS]
    try:
        return object_code.load_native(_STEP, [*sources, *_common_sources()], announce)
    except FileNotFoundError:
        return None
    except Exception:
        # Whatever a compiler or a processor lacks: the reference engine does the same, slower.
        log.warning("the compiled loop cannot be used; the reference engine runs", exc_info=True)
        return None


@cache
def load_gather() -> object_code.Native:
    """The writer of columns, for results of the loop; it is compiled where it is not yet.

    It is loaded once: machine code stays mapped, and a process may have 65,530 mappings.
    """
    sources = [_GATHER_FILE, _FOLDER / "layout.py", _FOLDER / "text.py", *_common_sources()]
    return object_code.load_native(_GATHER, sources, _announce)


def _common_sources() -> list[Path]:
    core = Path(jit.__file__).parent
    return [_FOLDER / "views.py", core / "jit.py", core / "native" / "memory_views.py"]


def main() -> None:
    """Compile the loop and the writer of columns where they are not yet: part of the set-up."""
    if load_step(_announce):
        load_gather()


def _announce() -> None:
    sys.stderr.write("· compiling a loop of the bulk resolver\n")


def announce_compilation() -> None:
    """State on standard error why a run that asks many questions does not begin at once."""
    sys.stderr.write("compiling the bulk resolver's loop for this processor, once …\n")
    sys.stderr.flush()


def is_possible() -> bool:
    """Whether the system has what the loop calls: Linux, 64 bit, low octet first."""
    if sys.platform != "linux" or sys.byteorder != "little" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    library = ctypes.CDLL(None)
    return all(hasattr(library, call) for call in _CALLS)


if __name__ == "__main__":
    main()
