"""``docker run`` by namespaces alone, for the options of the line that the site shows.

``python -m benchmarks.vantage.container IMAGE run …``: IMAGE is a folder with the files of the
image. The container has an empty root with them and the system's libraries, read only, its own
processes, the network of the caller, the image's user and no capabilities. It stays in the
foreground, and its volume is a folder beside the image.
"""

import argparse
import ctypes
import os
import shutil
import sys
from pathlib import Path

from core.paths import PROJECT

USER = 10_001
HOME = "opt/nephoscope"
SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "etc/ssl", "etc/ld.so.cache")
NEVER = ("node_modules", "tests", ".git", ".mypy_cache", ".ruff_cache", "var", "*.egg-info")
_NEWNS, _NEWPID = 0x00020000, 0x20000000
_BIND, _RECURSIVE, _PRIVATE, _READ_ONLY, _REMOUNT = 0x1000, 0x4000, 0x40000, 0x1, 0x20
_libc = ctypes.CDLL(None, use_errno=True)


def build_image(image: Path) -> None:
    """Lay out the files as ``deploy/containers/Dockerfile`` does."""
    (image / "opt").mkdir(parents=True)
    shutil.copytree(PROJECT, image / HOME, ignore=shutil.ignore_patterns(*NEVER, ".venv"))
    passwd = f"nephoscope:x:{USER}:{USER}::/{HOME}:/usr/sbin/nologin\n"
    (image / "etc").mkdir()
    (image / "etc" / "passwd").write_text("root:x:0:0::/:/bin/sh\n" + passwd)
    (image / "etc" / "hosts").write_text("127.0.0.1 localhost\n")
    # Programs of the environment name its own folder, which is mounted at the same place.
    (image / HOME / ".venv").symlink_to(Path(sys.prefix).resolve())


def main() -> None:
    """Run the line's program, and end with its exit code."""
    image, options, arguments = parse(sys.argv[1:])
    for setting in options.sysctl:
        name, _, value = setting.partition("=")
        Path("/proc/sys", *name.split(".")).write_text(value)
    if options.cap_drop != ["ALL"]:
        raise SystemExit("only --cap-drop ALL is known")
    _check(_libc.unshare(_NEWNS | _NEWPID))
    # The first process of the new namespace of processes is a child.
    pid = os.fork()
    if pid:
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    root = mount_root(image, options.volume)
    os.chroot(root)
    os.chdir("/" + HOME)
    drop = ["--reuid", str(USER), "--regid", str(USER), "--clear-groups"]
    drop += ["--bounding-set", "-all", "--inh-caps", "-all", "--ambient-caps", "-all"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/" + HOME, "LANG": "C.UTF-8"}
    program = [options.entrypoint, *arguments]
    os.execve("/usr/bin/setpriv", ["setpriv", *drop, "--no-new-privs", *program], environment)


def parse(words: list[str]) -> tuple[Path, argparse.Namespace, list[str]]:
    """The image's folder, the options of ``docker run``, and the arguments of the program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("run", choices=["run"])
    parser.add_argument("--detach", action="store_true")
    for name in ("--restart", "--entrypoint"):
        parser.add_argument(name, default="")
    for name in ("--cap-drop", "--sysctl", "--volume"):
        parser.add_argument(name, action="append", default=[])
    parser.add_argument("image", choices=["nephoscope"])
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    found = parser.parse_args(words)
    return found.folder, found, found.arguments


def mount_root(image: Path, volumes: list[str]) -> Path:
    """An empty root with the image, the system's libraries, Python's, and the volumes."""
    _mount("none", "/", "", _RECURSIVE | _PRIVATE)
    root = image.with_name("root")
    root.mkdir()
    _mount("tmpfs", root, "tmpfs", 0)
    root.chmod(0o755)
    for place in SYSTEM:
        if Path("/", place).is_symlink():
            (root / place).symlink_to(Path("/", place).readlink())
        elif Path("/", place).exists():
            bind(Path("/", place), root / place)
    for place in (HOME, "etc/passwd", "etc/hosts"):
        bind(image / place, root / place)
    environment = Path(sys.prefix).resolve()
    bind(environment, root / str(environment).lstrip("/"))
    bind(Path(sys.base_prefix), root / sys.base_prefix.lstrip("/"))
    for name, place in (volume.split(":")[:2] for volume in volumes):
        own = image.with_name(name)
        own.mkdir(exist_ok=True)
        os.chown(own, USER, USER)
        bind(own, root / place.lstrip("/"), is_writable=True)
    (root / "tmp").mkdir(mode=0o1777)
    (root / "tmp").chmod(0o1777)
    (root / "proc").mkdir()
    _mount("proc", root / "proc", "proc", 0)
    bind(Path("/dev"), root / "dev", is_writable=True)
    return root


def bind(source: Path, target: Path, *, is_writable: bool = False) -> None:
    """Mount a file or folder at another place, by default read only."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.mkdir() if source.is_dir() else target.touch()
    _mount(source, target, "", _BIND | _RECURSIVE)
    if not is_writable:
        _mount("none", target, "", _BIND | _REMOUNT | _READ_ONLY)


def _mount(source: object, target: object, kind: str, flags: int) -> None:
    words = [str(word).encode() or None for word in (source, target, kind)]
    _check(_libc.mount(*words, flags, None))


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
