"""The stylesheet of providers: hues, letters and classes from ``fixtures/providers.toml``."""

import os
from contextlib import suppress
from pathlib import Path

from core.providers import PROVIDER_BY_ID

STYLESHEET = Path("nephoscope/css/providers.css")


def build_stylesheet() -> str:
    """Build custom properties and the classes ``tag--ID`` and ``hue--ID`` of every provider.

    Charts read the ids and letters from ``--provider-letters``.
    """
    providers = PROVIDER_BY_ID.values()
    letters = " ".join(f"{p.id}={p.letter}" for p in providers)
    hues = "".join(f"  --{p.id}: light-dark({', '.join(p.hue)});\n" for p in providers)
    classes = "".join(
        f".tag--{p.id} {{ background: var(--{p.id}); }}\n.hue--{p.id} {{ --hue: var(--{p.id}); }}\n"
        for p in providers
    )
    return f':root {{\n  --provider-letters: "{letters}";\n{hues}}}\n{classes}'


def write_stylesheet(static_root: Path) -> None:
    """Write the stylesheet below a folder of static files, unless it is there as it should be."""
    path, text = static_root / STYLESHEET, build_stylesheet()
    # Without a writable disk the site starts all the same, with letters on one hue.
    with suppress(OSError):
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        # Outside the folder, which other processes that start now list.
        part = static_root.parent / f"{path.name}.{os.getpid()}"
        part.write_text(text, encoding="utf-8")
        part.replace(path)
