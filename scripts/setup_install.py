"""Second half of the set-up (``scripts/setup.sh`` is the first): put the pins and the package into an environment, by its own Python."""

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from tierwise.core.progress import Progress, say

PINS = ("--require-hashes", "--only-binary", ":all:", "-r", "requirements.txt")
PACKAGE = ("--no-deps", "--no-build-isolation", "--no-index", "-e", ".")

OTHER_PYTHON = "python3.13" if sys.version_info[:2] == (3, 12) else "python3.12"

FAILURES = (
    (r"No space left on device", "the disk is full. Free some space, then: make report"),
    (r"NOT MATCH THE HASHES", "a download is not the pinned file (its hash differs). Fetch it anew: pip cache purge && make report"),
    (
        r"PIP_NO_INDEX|Retrying[\s\S]*versions: none|(?m:^(ERROR|pip\._vendor).*(Connection|Timeout|Incomplete))",
        "the first set-up needs the network and finds none. Connect, then: make report",
    ),
    (
        r"No matching distribution found for (\S+)",
        f"there is no build of {{}} for Python {sysconfig.get_python_version()} here. Take another: make report PYTHON={OTHER_PYTHON}",
    ),
)
"""What pip says (the first match wins), and the one line for the reader; ``{}`` is what the pattern caught."""


def explain(log: str) -> str:
    """Return the one line that says why pip failed and what helps."""
    for pattern, advice in FAILURES:
        if found := re.search(pattern, log):
            return advice.format(found[found.lastindex or 0])
    errors = [line for line in log.splitlines() if line.lower().startswith("error")]
    return f"pip failed: {errors[-1] if errors else 'without a word'}. Begin anew: make clean report"


def install(environment: Path, arguments: tuple[str, ...], progress: Progress | None = None) -> None:
    """Run pip with `arguments`; what it says goes to ``setup.log``, and downloads are unpacked inside `environment`, not in /tmp."""
    log = environment / "setup.log"
    site_packages = Path(sysconfig.get_path("purelib"))
    with tempfile.TemporaryDirectory(dir=environment) as scratch, log.open("w", encoding="utf-8") as sink:
        command = [sys.executable, "-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check", *arguments]
        pip = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": scratch})
        while True:
            try:
                pip.wait(timeout=1)
                break
            except subprocess.TimeoutExpired:
                if progress:
                    seen = log.read_text(encoding="utf-8", errors="replace").count("\nCollecting ")
                    progress.step(seen + len(list(site_packages.glob("*.dist-info"))) - progress.done)
    if pip.returncode:
        offline = "PIP_NO_INDEX\n" if os.environ.get("PIP_NO_INDEX") else ""
        sys.exit(f"tierwise: {explain(offline + log.read_text(encoding='utf-8', errors='replace'))}")


def main() -> None:
    """Install into the environment named on the command line."""
    environment = Path(sys.argv[1]).resolve()
    pins = len(re.findall(r"(?m)^\S+==", Path("requirements.txt").read_text(encoding="utf-8")))
    say(f"tierwise: setting up {environment.name} (the first time some 450 MB to download, a few minutes)")
    install(environment, PINS, Progress("setting up", 2 * pins))
    install(environment, PACKAGE)


if __name__ == "__main__":
    main()
