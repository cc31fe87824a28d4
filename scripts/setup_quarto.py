"""Try to put Quarto into an environment, by its own Python; what came of it is kept in ``quarto.txt`` there.

The set-up tries this once, because the report does not need Quarto: without it Pandoc and Typst, from wheels, build the same. What PyPI
has of Quarto is a script that fetches the program from GitHub, so that a mirror of PyPI is not enough.

usage, from the checkout: python scripts/setup_quarto.py ENVIRONMENT [--once]
"""

import re
import subprocess
import sys
from pathlib import Path

from tierwise.core.files import write_whole
from tierwise.core.progress import say

PINS = Path("scripts/quarto.txt")
PATIENCE_S = 300
RECORD = "quarto.txt"
AGAIN = "`make quarto` tries again"


def install(environment: Path) -> str:
    """Return the outcome in a line."""
    arguments = ["--no-deps", "--require-hashes", "--no-binary", "quarto-cli", "-r", str(PINS)]
    command = [sys.executable, "-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check", *arguments]
    (version,) = re.findall(r"quarto-cli==(\S+)", PINS.read_text(encoding="utf-8"))
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        return f"Quarto {version} is not installed: nothing came of it in {PATIENCE_S // 60} minutes; {AGAIN}"
    if done.returncode:
        return f"Quarto {version} is not installed: {explain(done.stdout + done.stderr)}; {AGAIN}"
    quarto = environment / "bin" / "quarto"
    said = subprocess.run([str(quarto), "--version"], capture_output=True, text=True, timeout=60, check=False)
    return f"Quarto {said.stdout.strip()} is installed" if not said.returncode else f"Quarto {version} does not run here; {AGAIN}"


def explain(log: str) -> str:
    """Why pip failed, in a few words."""
    if re.search(r"Error downloading Quarto", log):
        return "PyPI was reached, GitHub, where its package fetches the program, was not"
    if re.search(r"NewConnectionError|Retrying|No matching distribution|Could not find a version|Temporary failure", log):
        return "no network, or no mirror with quarto-cli"
    if re.search(r"NOT MATCH THE HASHES", log):
        return "the download is not the pinned file (its hash differs)"
    errors = [line.strip() for line in log.splitlines() if "error" in line.lower()]
    return errors[-1] if errors else "pip failed without a word"


def main() -> None:
    """Install, say and record; an environment that has a record is left alone where ``--once`` asks for that. Never fails the set-up."""
    environment = Path(sys.argv[1]).resolve()
    record = environment / RECORD
    if "--once" in sys.argv and record.exists():
        return
    say("tierwise: trying to install Quarto (optional)")
    outcome = install(environment)
    write_whole(record, outcome + "\n")
    say(f"tierwise: {outcome}")


if __name__ == "__main__":
    main()
