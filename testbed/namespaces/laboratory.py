"""An Internet in network namespaces with known truth: built, entered, broken, removed.

It lives as long as its context; after an exception, and after its process is killed, nothing of
it stays.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TypeVar

from core.paths import PROJECT
from testbed.namespaces import control_network, namespace_exec, netns, servers, setup_commands
from testbed.namespaces.capabilities import detect_capabilities
from testbed.namespaces.topology import LinkShape, Topology
from testbed.namespaces.truth import Truth

T = TypeVar("T")


class Laboratory:
    """A running plan; use it as a context, which raises ``OSError`` if it cannot be built."""

    def __init__(
        self, plan: Topology, seed: int = 1, links: str = "", *, centre: bool = False
    ) -> None:
        """With ``centre``, hosts reach a namespace that is no part of the plan."""
        capabilities = detect_capabilities()
        spoken = tuple(f for f in plan.families if f in capabilities.families)
        self.plan = replace(plan, families=spoken or plan.families)
        self.truth = Truth.of(self.plan)
        self._centre = [control_network.NODE] if centre else []
        self._seed = seed
        self._links, self._seeded = links or capabilities.links, capabilities.seeded
        self._stack = ExitStack()
        self._directions: dict[int, tuple[int, int]] = {}
        self._line: subprocess.Popen[str] | None = None
        self.prefix = ""
        # Build time, an indicator of the load of the machine.
        self.built_in_s = 0.0

    def __enter__(self) -> "Laboratory":
        if reason := self._refusal():
            raise OSError(reason)
        netns.remove_stale()
        began = time.monotonic()
        self.prefix = netns.new_prefix()
        with ExitStack() as stack:
            stack.callback(lambda: netns.remove(self.names))
            self._build(stack)
            self._stack = stack.pop_all()
        self.built_in_s = time.monotonic() - began
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def names(self) -> list[str]:
        """All namespaces, as the ``ip`` command knows them."""
        return [self.prefix + name for name in (*self.plan.by_name, *self._centre)]

    def run_inside(self, node: str, work: Callable[[], T]) -> T:
        """Run ``work`` at a node in a new thread; its error is raised here."""
        return netns.run_inside(self.prefix + node, work)

    def start(self, node: str, program: list[str], **more: Any) -> "subprocess.Popen[str]":
        """Start a program at a node; it ends with this process at the latest."""
        command = namespace_exec.command(self.prefix + node, program)
        return subprocess.Popen(command, cwd=PROJECT, text=True, **more)

    def fail(self, links: Iterable[int]) -> None:
        """Take links down, and let routes find other ways, as routing would."""
        self._converge(Truth.of(self.plan, self.truth.down | set(links)))

    def restore(self) -> None:
        """Take all links up."""
        self._converge(Truth.of(self.plan))

    def shape(self, number: int, line: LinkShape) -> None:
        """Give a link that has a delay other values; the plan keeps the old ones."""
        if number in self._directions:
            change = {**asdict(line), "directions": self._directions[number]}
            assert self._line is not None
            _send_json(self._line, change)
        else:
            self._delay(number, line)

    def _refusal(self) -> str:
        capabilities = detect_capabilities()
        if capabilities.reason or set(self.plan.families) <= set(capabilities.families):
            return capabilities.reason
        return "there is no IPv6 here, and the plan has nothing else"

    def _build(self, stack: ExitStack) -> None:
        for name in self.names:
            netns.add(name)
        for node in self.plan.nodes:
            self.run_inside(node.name, partial(setup_commands.apply_sysctls, node))
        self._create_links(stack)
        if self._centre:
            hosts = [node.name for node in self.plan.nodes if node.kind != "router"]
            control_network.connect_hosts(self.prefix, hosts)
        for node in self.plan.nodes:
            commands = setup_commands.address_commands(self.plan, node)
            netns.batch(self.prefix + node.name, commands)
            self._add_neighbours(node.name)
            if self._links == "netem" and node.kind != "router":
                sizes = setup_commands.segment_commands(self.plan, node.name)
                netns.batch(self.prefix + node.name, sizes, force=True)
        for node in self.plan.nodes:
            commands = setup_commands.route_commands(self.plan, node.name, {}, self.truth.routes)
            netns.batch(self.prefix + node.name, commands)
            for family in self.plan.families if node.silent else ():
                tool = ("ip", f"-{family}")
                netns.batch(self.prefix + node.name, [setup_commands.BLACKHOLE_RULE], tool=tool)
        self._serve(stack)

    def _create_links(self, stack: ExitStack) -> None:
        """All links: veth pairs, or pairs of TUN devices with the delay line between them."""
        sprayed = {number for group in self.plan.sprays for number in group}
        late, pairs = [], dict[str, list[str]]()
        for number, link in enumerate(self.plan.links):
            if number in sprayed or (self._links == "tun" and not link.line.plain):
                late.append(number)
            else:
                command = setup_commands.veth_command(self.plan, number, self.prefix)
                pairs.setdefault(link.first, []).append(command)
        for name, commands in pairs.items():
            netns.batch(self.prefix + name, commands)
        for number, link in enumerate(self.plan.links):
            if number not in late and not link.line.plain:
                self._delay(number, link.line)
        self._start_delay_line(late, stack)

    def _add_neighbours(self, node: str) -> None:
        pairs = [n for n in self.plan.links_by_node[node] if n not in self._directions]
        commands = [c for n in pairs for c in setup_commands.neighbour_commands(self.plan, node, n)]
        netns.batch(self.prefix + node, commands)

    def _delay(self, number: int, line: LinkShape) -> None:
        link = self.plan.links[number]
        for side, node in enumerate((link.first, link.second)):
            name = setup_commands.device_name(self.plan, number, node)
            seed = self._seed + 2 * number + side if self._seeded else None
            command = setup_commands.netem_command(name, line, seed)
            netns.batch(self.prefix + node, [command], tool=("tc",))

    def _start_delay_line(self, late: list[int], stack: ExitStack) -> None:
        """The process is there even without a link to delay: it removes what we leave behind."""
        ends: dict[tuple[int, str], int] = {}
        for number in late:
            link = self.plan.links[number]
            for node in (link.first, link.second):
                name = setup_commands.device_name(self.plan, number, node)
                ends[number, node] = self.run_inside(node, partial(setup_commands.open_tun, name))
        directions: list[dict[str, Any]] = []
        for number in late:
            self._directions[number] = (len(directions), len(directions) + 1)
            directions += self._link_directions(number, ends)
        given = {"directions": directions, "namespaces": self.names}
        self._line = self._run("testbed.namespaces.delay_line", given, list(ends.values()), stack)
        for number_of_device in ends.values():
            os.close(number_of_device)

    def _link_directions(
        self, number: int, ends: dict[tuple[int, str], int]
    ) -> list[dict[str, Any]]:
        link = self.plan.links[number]
        group = next((g for g in self.plan.sprays if number in g), (number,))
        spread = [ends[n, self.plan.links[n].second] for n in group]
        first, second = ends[number, link.first], ends[number, link.second]
        seed = self._seed + 2 * number
        return [
            {"in": first, "outputs": spread, "seed": seed, **asdict(link.line)},
            {"in": second, "outputs": [first], "seed": seed + 1, **asdict(link.line)},
        ]

    def _serve(self, stack: ExitStack) -> None:
        specs, kept = [], []
        for node in self.plan.of_kind("instance"):
            addresses = [self.plan.home(node.name, family) for family in self.plan.families]
            for address in addresses:
                for port, kind, what in servers.SERVICES:
                    opening = partial(servers.open_service, address, port, kind)
                    sock = self.run_inside(node.name, opening)
                    kept.append(sock)
                    specs.append({"number": sock.fileno(), "what": what, "address": address})
        self._run("testbed.namespaces.servers", specs, [sock.fileno() for sock in kept], stack)
        for sock in kept:
            sock.close()

    def _run(
        self, module: str, given: Any, numbers: list[int], stack: ExitStack
    ) -> "subprocess.Popen[str]":
        """A process of ours, until our end of its standard input is closed, also by our death."""
        process = subprocess.Popen(
            [sys.executable, "-S", "-m", module],
            cwd=PROJECT,
            pass_fds=numbers,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        stack.callback(_stop_process, process)
        _send_json(process, given)
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise OSError(f"{module} did not begin")
        return process

    def _converge(self, after: Truth) -> None:
        before, self.truth = self.truth, after
        changed = before.down ^ after.down
        for node in self.plan.nodes:
            own = [n for n in self.plan.links_by_node[node.name] if n in changed]
            states = [
                f"link set dev {setup_commands.device_name(self.plan, n, node.name)} "
                f"{'down' if n in after.down else 'up'}"
                for n in own
            ]
            netns.batch(self.prefix + node.name, states)
        for node in self.plan.nodes:
            if changed & set(self.plan.links_by_node[node.name]):
                self._add_neighbours(node.name)
            commands = setup_commands.route_commands(
                self.plan, node.name, before.routes, after.routes
            )
            netns.batch(self.prefix + node.name, commands, force=True)


def _send_json(process: "subprocess.Popen[str]", what: Any) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(what) + "\n")
    process.stdin.flush()


def _stop_process(process: "subprocess.Popen[str]") -> None:
    """Stop a process; do not wait until the kernel has removed its devices."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.stdout.read(1)
    process.stdout.close()
    threading.Thread(target=process.wait, daemon=True).start()
