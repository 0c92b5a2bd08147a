"""The peers: pytricia and py-radix, each with one structure per family and called its best way."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BITS = {4: 32, 6: 128}
Find = Callable[[Any], Any]


@dataclass(frozen=True)
class Peer:
    """A loaded table: its own call for an address as text, and as a number or packed bytes; and
    the number that an answer of such a call represents."""

    name: str
    by_text: Find
    by_number: Find
    packs: bool
    read: Callable[[Any], int]


def use(path: str | None) -> None:
    """Let packages of another environment be found: its folder, or its site-packages."""
    if path is None:
        return
    base = Path(path)
    folders = [base, *base.glob("lib/python3*/site-packages")]
    sys.path.extend(str(folder) for folder in folders if folder.is_dir())


def load_all(prefixes: Sequence[tuple[str, int]], family: int) -> list[Peer]:
    """Every peer that is installed, filled; reports which are left out."""
    found = []
    for name, load in (("pytricia", _pytricia), ("py-radix", _radix)):
        module = {"py-radix": "radix"}.get(name, name)
        if importlib.util.find_spec(module) is None:
            print(f"{name}: not installed, left out (give its environment with --peers PATH)")
            continue
        found.append(load(importlib.import_module(module), prefixes, family))
    return found


def _pytricia(module: Any, prefixes: Sequence[tuple[str, int]], family: int) -> Peer:
    tree = module.PyTricia(BITS[family])
    for prefix, number in prefixes:
        tree[prefix] = number
    return Peer("pytricia", tree.get, tree.get, family == 6, lambda n: -1 if n is None else n)


def _radix(module: Any, prefixes: Sequence[tuple[str, int]], _family: int) -> Peer:
    tree = module.Radix()
    for prefix, number in prefixes:
        tree.add(prefix).data["n"] = number
    best = tree.search_best

    def by_packed(key: bytes) -> Any:
        return best(packed=key)

    return Peer("py-radix", best, by_packed, True, lambda node: node.data["n"] if node else -1)
