"""The agent's command line: measure, then send one report to a pool or write it to a file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any, NoReturn

from screening.agent_parts.battery import Plan, run_battery
from screening.agent_parts.delivery import Refused, deliver, save
from screening.agent_parts.host import read_host
from screening.agent_parts.kernel import (
    find_quota,
    read_cpu_ticks,
    read_pressure_us,
    read_throttling,
    read_wall_clock,
)
from screening.agent_parts.network import PORT, RATES, call_servers, serve
from screening.agent_parts.placement import PLACEMENT_FIELDS, is_placement
from screening.agent_parts.sampler_pool import measure
from screening.agent_parts.sampling import Order, Tally
from screening.agent_parts.verdict import STALLS_KEPT, classify_cpus, describe_cpu

AGENT_VERSION = "1.2"
SCHEMA = "nephoscope.screening/1"
# The site writes its own address here when it serves this file.
SITE_URL = ""
SECONDS, LONGEST_S = 100.0, 120.0
# A server of the network test outlives many clients, but never its machine's hour.
SERVER_LONGEST_S = 3600.0
PLACEMENT_OPTIONS = {
    "--provider": "cloud provider of this machine",
    "--region": "its region",
    "--zone": "its availability zone",
    "--instance-type": "its instance type",
}


def main(words: list[str] | None = None) -> int:
    """Run what the command line asks for; gives the exit code."""
    options = parse_options(words)
    if os.name != "posix":
        return print_status("this agent needs Linux; macOS works in part", 2)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        return run(options)
    except KeyboardInterrupt:
        return print_status("interrupted", 130)
    except Refused as error:
        return print_status(f"refused: {error}", 1)
    except (OSError, ValueError) as error:
        return print_status(str(error), 1)


def stop(number: int, _: Any) -> NoReturn:
    """End by a signal, but through every clean-up."""
    raise SystemExit(128 + number)


def print_status(text: str, code: int = 0) -> int:
    """One line for the person who watches."""
    sys.stderr.write(f"nephoscope agent: {text}\n")
    return code


def parse_options(words: list[str] | None) -> argparse.Namespace:
    """Options with their bounds; ends the program when one is wrong."""
    parser = argparse.ArgumentParser(description="Is this virtual machine a good one?")
    add = parser.add_argument
    add("--pool", metavar="TOKEN", help="token of the pool that gets the report")
    add(
        "--server",
        nargs="?",
        const=f":{PORT}",
        metavar="URL or [HOST]:PORT",
        help="with a URL: the site; with an address or nothing: answer network tests",
    )
    add("--client", nargs="+", metavar="HOST[:PORT]", help="network test of these servers")
    add("--rates", default=",".join(map(str, RATES)), help="calls per second, one after another")
    add("--seconds", type=float, help="time per measurement (default 100, at most 120)")
    add("--sleep-us", type=int, default=100, help="length of one sleep, 10 to 10000")
    add("--cpu", type=int, action="append", help="only this virtual CPU; may be repeated")
    add("--python", action="store_true", help="do not compile the native sampler")
    add("--name", default="", help="name of this machine in the pool")
    for name, what in PLACEMENT_OPTIONS.items():
        add(name, default="", metavar="NAME", help=f"{what}, if its files do not say")
    add("--battery", action="store_true", help="CPU, disk and network tests as well")
    add("--rounds", type=int, default=1, help="rounds of the battery, 1 to 10000")
    add("--every", type=float, default=300.0, help="seconds from round to round")
    add("--folder", help="where the disk tests put their files (default: for temporary files)")
    add("--files", type=int, default=20, help="5 MB files of the disk tests, 3 to 400")
    add("--peer", metavar="HOST[:PORT]", help="machine with --server, for 32 KB there and back")
    add("--output", metavar="FILE", help="write the report to a file")
    add("--upload", nargs="+", metavar="FILE", help="send reports that were written earlier")
    add("--patience", type=float, default=900.0, help="seconds to try again for when sending")
    add("--json", action="store_true", help="the report on standard output")
    options = parser.parse_args(words)
    for problem in check_options(options):
        parser.error(problem)
    return options


def check_options(options: argparse.Namespace) -> list[str]:
    """What is wrong with the options, and their defaults filled in."""
    is_site = bool(options.server) and "://" in options.server
    options.site = options.server.rstrip("/") if is_site else SITE_URL
    options.listen = "" if is_site else options.server
    longest_s = SERVER_LONGEST_S if options.listen else LONGEST_S
    if options.seconds is None:
        options.seconds = 600.0 if options.listen else SECONDS
    wrong = [
        (not 1 <= options.seconds <= longest_s, f"--seconds is 1 to {longest_s:g}"),
        (not 10 <= options.sleep_us <= 10_000, "--sleep-us is 10 to 10000"),
        (not 1 <= options.rounds <= 10_000, "--rounds is 1 to 10000"),
        (not 1 <= options.every <= 86_400, "--every is 1 to 86400"),
        (not 3 <= options.files <= 400, "--files is 3 to 400"),
        (bool(options.pool) and not options.site, "--pool needs --server URL"),
        (bool(options.upload) and not options.pool, "--upload needs --pool TOKEN"),
        (not _read_rates(options.rates), "--rates are whole numbers from 1 to 5000"),
        *(
            (not is_placement(value), f"{name}: letters, digits, - _ and . only, at most 64")
            for name, value in read_placement(options).items()
        ),
    ]
    return [text for found, text in wrong if found]


def _read_rates(text: str) -> tuple[int, ...]:
    words = text.split(",")
    fit = all(word.isdigit() and 1 <= int(word) <= 5000 for word in words)
    return tuple(int(word) for word in words) if fit else ()


def read_address(text: str) -> tuple[str, int]:
    """Host and port of ``HOST``, ``HOST:PORT``, ``:PORT``, ``PORT`` or ``[v6]:PORT``."""
    if text.isdigit():
        return "", int(text)
    host, colon, port = text.rpartition(":")
    if colon and port.isdigit() and (":" not in host or host.startswith("[")):
        return host.strip("[]"), int(port)
    return text.strip("[]"), PORT


def run(options: argparse.Namespace) -> int:
    """Serve, upload or measure."""
    if options.listen:
        host, port = read_address(options.listen)
        found = serve(host or "0.0.0.0", port, options.seconds, _print_port)
        return print_status(f"answered {found} calls")
    if options.upload:
        return max(send(json.loads(Path(path).read_text()), options) for path in options.upload)
    report = measure_report(options)
    is_kept = not options.output or save_or_print(report, options.output)
    if options.json and is_kept:
        write_out(report)
    elif is_kept:
        show(report)
    sent = send(report, options) if options.pool else 0
    return sent if is_kept else 1


def save_or_print(report: dict[str, Any], path: str) -> bool:
    """Write a result file; where none can be written, standard output gets the report."""
    try:
        save(report, path)
    except OSError as error:
        print_status(f"{error}; the report is on standard output")
        write_out(report)
        return False
    return True


def write_out(report: dict[str, Any]) -> None:
    """The report as one line."""
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()


def _print_port(port: int) -> None:
    print_status(f"answering on port {port}")


def send(report: dict[str, Any], options: argparse.Namespace) -> int:
    """Deliver a report; when the site cannot be reached, keep it in a file and print its path."""
    try:
        deliver(report, options.site, options.pool, options.patience)
    except OSError as error:
        kept = options.output or (options.upload and "the file it came from")
        if not kept:
            kept = "nephoscope-{}.json".format(report["report_id"])
            if not save_or_print(report, kept):
                return print_status(str(error), 1)
        return print_status(f"{error}; the report is in {kept}, send it with --upload", 1)
    return print_status("report {} has arrived".format(report["report_id"]))


def measure_report(options: argparse.Namespace) -> dict[str, Any]:
    """Measure and put together one report."""
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "report_id": uuid.uuid4().hex,
        "agent_version": AGENT_VERSION,
        "started_at": round(read_wall_clock(), 3),
        "sleep_us": options.sleep_us,
        "host": read_host(options.name, read_placement(options)),
        "notes": list(_find_notes()),
    }
    if options.client:
        addresses = [read_address(word) for word in options.client]
        report["network"] = call_servers(addresses, _read_rates(options.rates), options.seconds)
        cpus: list[dict[str, Any]] = []
    else:
        cpus = sample_cpus(options, report)
    if options.battery:
        report["battery"] = run_battery(_plan(options))
    verdict, reasons = classify_cpus(cpus)
    return {
        **report,
        "seconds": options.seconds,
        "cpus": cpus,
        "verdict": verdict,
        "reasons": reasons,
    }


def read_placement(options: argparse.Namespace) -> dict[str, str]:
    """Provider, region, zone and instance type as they were given."""
    return {name: getattr(options, name) for name in PLACEMENT_FIELDS}


def _find_notes() -> list[str]:
    if platform.system() == "Linux":
        return []
    return [f"{platform.system()}: no pinning, no timer slack, no steal or run delay"]


def _plan(options: argparse.Namespace) -> Plan:
    folder = options.folder or find_folder()
    plan = Plan(options.rounds, options.every, folder, options.files)
    if options.peer:
        plan.peer = read_address(options.peer)
        plan.target = plan.peer[0]
    return plan


def find_folder() -> str:
    """Where temporary files go; where none can be written, the disk tests report it."""
    try:
        return tempfile.gettempdir()
    except OSError:
        return "/tmp"


def find_cpus() -> list[int]:
    """Virtual CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return [0]


def sample_cpus(options: argparse.Namespace, report: dict[str, Any]) -> list[dict[str, Any]]:
    """The report's entries of all virtual CPUs; fills its notes, pressure and quota."""
    allowed = find_cpus()
    chosen = sorted(set(options.cpu or allowed))
    if not set(chosen) <= set(allowed):
        raise ValueError("--cpu is one of {}".format(", ".join(map(str, allowed))))
    quota = find_quota()
    stat = quota.stat if quota else ""
    orders = [Order(cpu, options.sleep_us, options.seconds, stat) for cpu in chosen]
    ticks, throttling = read_cpu_ticks(), read_throttling(stat)
    pressure = {name: read_pressure_us(name) for name in ("cpu", "io", "memory")}
    tallies, notes = measure(orders, not options.python)
    after, late = read_cpu_ticks(), read_throttling(stat)
    report["notes"] += notes
    report["throttled_periods"] = late.throttled - throttling.throttled
    report["pressure_us"] = {
        name: {kind: total - before.get(kind, 0) for kind, total in read_pressure_us(name).items()}
        for name, before in pressure.items()
    }
    _name_hypervisor(report, tallies)
    kept = max(STALLS_KEPT // max(len(tallies), 1), 100)
    lost_us = late.throttled_us - throttling.throttled_us
    return [
        describe_cpu(tally, ticks.get(tally.cpu), after.get(tally.cpu), lost_us, kept)
        for tally in tallies
    ]


def _name_hypervisor(report: dict[str, Any], tallies: list[Tally]) -> None:
    seen = next((tally.hypervisor for tally in tallies if tally.hypervisor), "")
    known = report["host"]["hypervisor"]
    if seen and seen not in known:
        report["host"]["hypervisor"] = (seen + (" " + known if known != "unnamed" else "")).strip()


def show(report: dict[str, Any]) -> None:
    """The result for a person."""
    lines = [f"{report['host']['name']}: {report['verdict']}"]
    lines += [f"  {text}" for text in report["reasons"] + report["notes"]]
    lines += map(_format_cpu, report["cpus"])
    lines += map(_format_calls, report.get("network", []))
    lines += map(_format_round, report.get("battery", []))
    sys.stdout.write("\n".join(lines) + "\n")


def _format_cpu(cpu: dict[str, Any]) -> str:
    return (
        f"  cpu {cpu['cpu']} ({cpu['mode']}): {cpu['wakeups']} sleeps, p50 {cpu['p50_us']:.0f} us, "
        f"p99 {cpu['p99_us']:.0f} us, p99.9 {cpu['p999_us']:.0f} us, "
        f"longest {cpu['max_us']:.0f} us, {cpu['stalls_10ms']} stalls, "
        f"steal {cpu['steal_ms']} ms, run delay {cpu['run_delay_ms']:.0f} ms, "
        f"throttled {cpu['throttled_ms']:.0f} ms, own use {100 * cpu['own_share']:.1f} %"
    )


def _format_calls(row: dict[str, Any]) -> str:
    return (
        f"  {row['server']} at {row['rate']}/s: {row['answered']} of {row['calls']} calls, "
        f"p50 {row['p50_us']:.0f} us, p99.9 {row['p999_us']:.0f} us, "
        f"{row['over_10ms']} of 10 ms or more, {row['late']} sent late"
    )


def _format_round(row: dict[str, Any]) -> str:
    values = [f"{name} {value}" for name, value in row.items() if isinstance(value, float)]
    missing = [f"no {name}: {reason}" for name, reason in row["missing"].items()]
    return "  battery: " + ", ".join(values[1:] + missing)


if __name__ == "__main__":
    sys.exit(main())
