"""A real S3 server on loopback, which tests start, stop and start again: versitygw, built by ``scripts/build_s3_server.sh``."""

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tierwise.cluster.store import Store, open_store
from tierwise.core.paths import home

BUCKET = "tierwise-test"


@cache
def program() -> Path:
    built = subprocess.run(["sh", home() / "scripts" / "build_s3_server.sh"], capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip(f"no S3 server here: {' '.join(built.stderr.split()) or 'its build failed'}")
    return Path(built.stdout.strip())


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@dataclass
class S3Server:
    folder: Path
    port: int
    variables: dict[str, str]
    process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str) -> None:
        """Start the server, or start it again with other `options`."""
        self.stop()
        files = self.folder / "files"
        (files / BUCKET).mkdir(parents=True, exist_ok=True)
        keys = {"ROOT_ACCESS_KEY": self.variables["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": self.variables["AWS_SECRET_ACCESS_KEY"]}
        sidecar: list[str | Path] = [] if has_attributes(files) else ["--sidecar", _made(self.folder / "attributes")]
        command: list[str | Path] = [program(), "--quiet", *options, "--port", f"127.0.0.1:{self.port}", "posix", *sidecar, files]
        self.process = subprocess.Popen(command, env={**os.environ, **keys}, stdout=subprocess.DEVNULL)
        for _ in range(200):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("the S3 server does not answer")

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def store(self, prefix: str) -> Store:
        return open_store(f"s3://{BUCKET}/{prefix}")


def has_attributes(folder: Path) -> bool:
    try:
        os.setxattr(folder, "user.tierwise", b"")
    except OSError:
        return False
    return True


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    port = free_port()
    keys = {"AWS_ACCESS_KEY_ID": secrets.token_hex(8), "AWS_SECRET_ACCESS_KEY": secrets.token_hex(16)}
    variables = {**keys, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_EC2_METADATA_DISABLED": "true"}
    server = S3Server(folder, port, variables)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        server.start()
        try:
            yield server
        finally:
            server.stop()
