"""Join the parts in ``agent_parts`` into one stand-alone file: ``python -m screening.bundle``.

A VM gets one file; people read modules. ``make setup`` writes the file, and no commit holds it.
"""

import ast
import os
from pathlib import Path

from core.paths import PROJECT

HERE = PROJECT / "screening"
AGENT = HERE / "agent.py"
PARTS = (
    "histograms",
    "kernel",
    "causes",
    "sampling",
    "native",
    "sampler_pool",
    "placement",
    "host",
    "verdict",
    "network",
    "disk",
    "battery",
    "delivery",
    "commands",
)
OWN = "screening.agent_parts"
UNKNOWN_SITE = 'SITE_URL = ""\n'

HEAD = '''#!/usr/bin/env python3
"""Nephoscope's screening agent: is this virtual machine a good one?

    curl -s SITE/agent | python3 - --pool TOKEN     measure 100 s and report to a pool
    python3 agent.py --output result.json           measure offline; --upload sends it later
    python3 agent.py --server                       answer network tests of other machines
    python3 agent.py --client HOST:PORT             the network test
    python3 agent.py --battery --rounds 12          CPU, disk and network jitter, every 5 minutes

It needs Python 3.8 and nothing else, never root, and leaves no file and no process behind.
This file is put together from screening/agent_parts; change it there.
"""

from __future__ import annotations

'''


def build() -> str:
    """The text of the stand-alone agent."""
    imports: dict[str, set[str]] = {}
    bodies = []
    for part in PARTS:
        body = _split((HERE / "agent_parts" / f"{part}.py").read_text(), imports)
        bodies.append(f"# --- {part} ---\n\n{body}")
    plain = sorted(imports.pop("", set()))
    lines = [f"import {name}" for name in plain]
    lines += [f"from {name} import {', '.join(sorted(imports[name]))}" for name in sorted(imports)]
    return HEAD + "\n".join(lines) + "\n\n" + "\n\n\n".join(bodies) + "\n"


def build_for_site(site: str) -> str:
    """The agent as a site serves it, with the site's address: ``--pool`` needs no ``--server``."""
    text = build()
    if text.count(UNKNOWN_SITE) != 1:
        raise RuntimeError("the agent has no place for its site's address")
    return text.replace(UNKNOWN_SITE, f"SITE_URL = {site!r}\n")


def write_agent() -> Path:
    """Write ``screening/agent.py`` unless it is up to date; a reader never sees half of it."""
    text = build()
    if not AGENT.exists() or AGENT.read_text() != text:
        temporary = AGENT.with_name(f".agent.{os.getpid()}.tmp")
        temporary.write_text(text)
        temporary.replace(AGENT)
    return AGENT


def _split(text: str, imports: dict[str, set[str]]) -> str:
    end = 0
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            end = node.end_lineno or end
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            if module != "__future__" and not module.startswith(OWN):
                imports.setdefault(module, set()).update(name.name for name in node.names)
    return "\n".join(text.split("\n")[end:]).strip("\n")


if __name__ == "__main__":
    write_agent()
