"""Compiled loops as plain machine code: kept on disk, and loaded again without the compiler.

Loading numba and what it needs takes half a second of each start; its machine code alone is loaded
by llvmlite in a few hundredths. A loop that is to be loaded so has one parameter, an address, and
returns an integer; it allocates nothing and calls only the C library.
"""

import ctypes
import hashlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from core import jit
from core.files import replace_file

_FOLDER = "__pycache__"
# What numba's functions are called with: places of the result and of an error, then the arguments.
_SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_void_p), ctypes.c_int64
)
# Engines own the machine code that they loaded.
_engines: list[Any] = []

Native = Callable[[int], int]


class Named(NamedTuple):
    """A loop by its module and name, and the functions of the C library that it calls."""

    module: str
    name: str
    calls: tuple[str, ...] = ()


def load_native(
    loop: Named, sources: Sequence[Path], announce: Callable[[], None] | None
) -> Native:
    """Load the machine code of a loop; compile it, after ``announce()``, where there is none.

    ``sources`` are the files that it is made of: a change of any of them compiles it again. Raises
    ``FileNotFoundError`` where there is none and ``announce`` is absent, ``AttributeError`` for a
    call that the C library lacks, and what the compiler raises where a platform cannot have it.
    """
    llvm = import_module("llvmlite.binding")
    path = _object_path(llvm, loop, sources)
    try:
        symbol, code = _read_object(path)
    except (OSError, ValueError):
        if announce is None:
            raise FileNotFoundError(path) from None
        announce()
        symbol, code = _compile(loop)
        _write_object(path, symbol, code)
    library = ctypes.CDLL(None)
    # Views of memory have no owner, so that what frees an owner is never called.
    symbols = {**{call: call for call in loop.calls}, "NRT_MemInfo_call_dtor": "abort"}
    for found_as, call in symbols.items():
        address = ctypes.cast(getattr(library, call), ctypes.c_void_p).value
        llvm.add_symbol(found_as, address)
    return _link(llvm, symbol, code)


def _object_path(llvm: Any, loop: Named, sources: Sequence[Path]) -> Path:
    """The file of this code for this processor, compiler and Python."""
    made_of = [
        *(source.read_bytes() for source in sources),
        Path(__file__).read_bytes(),
        repr(
            [
                _version("numba"),
                _version("llvmlite"),
                sys.version,
                os.uname().machine,
                llvm.get_host_cpu_name(),
                llvm.get_host_cpu_features().flatten(),
                os.environ.get("NUMBA_BOUNDSCHECK", ""),
            ]
        ).encode(),
    ]
    digest = hashlib.sha256(b"\0".join(made_of)).hexdigest()[:24]
    beside = sources[0].parent
    # An installed package may be someone else's.
    own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nephoscope"
    folder = beside / _FOLDER if os.access(beside, os.W_OK) else own
    return folder / f"{loop.module}.{loop.name}.{digest}.object"


def _version(package: str) -> str:
    """What states the version of a compiler's package, without loading it or its metadata."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(package)
    return Path(spec.origin).with_name("_version.py").read_text()


def _read_object(path: Path) -> tuple[str, bytes]:
    head, _, code = path.read_bytes().partition(b"\n")
    described = json.loads(head)
    if hashlib.sha256(code).hexdigest() != described["digest"]:
        raise ValueError(f"{path} is damaged")
    return described["symbol"], code


def _write_object(path: Path, symbol: str, code: bytes) -> None:
    """Keep the code; where the folder cannot be written it is compiled at each start."""
    head = json.dumps({"symbol": symbol, "digest": hashlib.sha256(code).hexdigest()})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for older in path.parent.glob(
            path.name.rpartition(".")[0].rpartition(".")[0] + ".*.object"
        ):
            older.unlink(missing_ok=True)
        with replace_file(path) as target:
            target.write_bytes(head.encode() + b"\n" + code)
    except OSError:
        return


def _compile(loop: Named) -> tuple[str, bytes]:
    numba = import_module("numba")
    function = getattr(import_module(loop.module), loop.name).function
    made = numba.njit(nogil=True, **jit.BARE)(function)
    made.compile("int64(int64)")
    (compiled,) = made.overloads.values()
    library = compiled.library
    code = library.codegen._tm.emit_object(library._final_module)
    return compiled.fndesc.llvm_func_name, code


def _link(llvm: Any, symbol: str, code: bytes) -> Native:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    address = engine.get_function_address(symbol)
    if not address:
        raise ImportError(f"{symbol} is not in its machine code")
    _engines.append(engine)
    function = _SIGNATURE(address)

    def call(argument: int) -> int:
        result, error = ctypes.c_int64(), ctypes.c_void_p()
        status = function(ctypes.byref(result), ctypes.byref(error), argument)
        if status:
            raise RuntimeError(f"{symbol} ended with status {status}")
        return result.value

    return call
