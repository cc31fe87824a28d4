"""A campaign ends complete whatever fails: the scheduler, the store, a worker, a machine's link or disk; at random moments."""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from campaign import REPLICATES, TTL_S, Site, campaign_site
from checkout import seed
from s3_server import BUCKET, s3_server
from support import needs_fuse
from tierwise.core.host import BOOT
from tierwise.core.units import GIB, KIB, MIB

pytestmark = [pytest.mark.soak, pytest.mark.alone, needs_fuse]
MOMENTS = range(10)
WORKERS = ("one", "two", "three")
TOOLS = ("ip", "nsenter", "unshare", "openssl", "mkfs.ext4")
as_root = pytest.mark.skipif(os.geteuid() != 0 or not all(map(shutil.which, TOOLS)), reason=f"needs root, {', '.join(TOOLS)}")


@pytest.fixture
def site() -> Iterator[Site]:
    with campaign_site() as made:
        yield made


def wait_a_moment(site: Site, moment: int) -> None:
    site.wait_for_measuring()
    time.sleep(random.Random(f"{seed()}/{moment}").uniform(0.0, 10.0))


def start_workers(site: Site, *names: str) -> None:
    for name in names:
        site.start_worker(name)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_scheduler_that_is_killed_and_started_again_costs_no_replicate(site: Site, moment: int) -> None:
    start_workers(site, *WORKERS)
    site.start_client()
    wait_a_moment(site, moment)
    site.kill("scheduler")
    time.sleep(2.0)
    site.start_scheduler()
    site.check_complete()


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_worker_that_is_killed_is_replaced(site: Site, moment: int) -> None:
    start_workers(site, *WORKERS)
    site.start_client()
    wait_a_moment(site, moment)
    measuring = [one.ppid() for one in site.measuring()]
    killed = next((name for name in WORKERS if site.started[name].pid in measuring), "one")
    site.kill(killed)
    site.start_worker(killed)
    site.check_complete()
    assert len(site.survey().counting) == REPLICATES


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_store_that_refuses_writes_gets_them_later(tmp_path: Path, moment: int) -> None:
    with s3_server(tmp_path) as server, campaign_site(f"s3://{BUCKET}/campaign") as site:
        start_workers(site, *WORKERS)
        site.start_client()
        wait_a_moment(site, moment)
        server.start("--readonly")
        site.wait_for_word("the store refuses", *WORKERS)
        server.start()
        site.check_complete()
        secret = server.variables["AWS_SECRET_ACCESS_KEY"].encode()
        files = [path for folder in (site.home.folder, tmp_path) for path in folder.rglob("*") if path.is_file()]
        assert not [path for path in files if secret in path.read_bytes()]


@as_root
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_machine_whose_network_link_goes_down_is_given_up(tmp_path: Path, moment: int) -> None:
    with network(moment) as (host, name), campaign_site(host=host, keys=certificates(tmp_path)) as site:
        site.start_worker("one", "nsenter", f"--net=/run/netns/{name}")
        site.start_client()
        wait_a_moment(site, moment)
        ip("link", "set", name, "down")
        start_workers(site, *WORKERS[1:])
        time.sleep(3 * TTL_S)
        site.wait_for_word("is away", "client")
        ip("link", "set", name, "up")
        site.check_complete()


@as_root
@pytest.mark.parametrize("moment", MOMENTS)
def test_what_a_machine_with_a_full_disk_cannot_measure_another_measures(site: Site, tmp_path: Path, moment: int) -> None:
    image, boot, disk = tmp_path / "image", tmp_path / "boot", site.home.folder / "one"
    with image.open("wb") as file:
        file.truncate(2 * GIB)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    boot.write_text("another machine", encoding="ascii")
    disk.mkdir(mode=0o755)
    machine = f'mount --bind {boot} {BOOT} && mount -o loop {image} {disk} && rmdir {disk}/lost+found && exec "$@"'
    one = site.start_worker("one", "unshare", "--mount", "sh", "-c", machine, "sh")
    site.start_client()
    wait_a_moment(site, moment)
    fill(Path(f"/proc/{one.pid}/root{disk}/filler"))
    start_workers(site, *WORKERS[1:])
    site.check_complete()
    found = site.survey()
    assert len(found.counting) == REPLICATES
    assert found.failed or "gets no more work" in site.log("client")


def fill(path: Path) -> None:
    """Write a file until its file system has no space."""
    with path.open("wb", buffering=0) as filler:
        for size in (MIB, KIB):
            with suppress(OSError):
                while filler.write(bytes(size)) == size:
                    pass


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def network(number: int) -> Iterator[tuple[str, str]]:
    """Yield the address of this host for a network namespace, and its name, which is that of the link to it, too."""
    name, here, there = f"tierwise{number}", f"10.213.{number}.1", f"10.213.{number}.2"
    ip("netns", "add", name)
    try:
        ip("link", "add", name, "type", "veth", "peer", "name", "host", "netns", name)
        ip("address", "add", f"{here}/30", "dev", name)
        ip("link", "set", name, "up")
        for words in (("address", "add", f"{there}/30", "dev", "host"), ("link", "set", "host", "up"), ("link", "set", "lo", "up")):
            ip("-netns", name, *words)
        yield here, name
    finally:
        ip("netns", "delete", name)


def certificates(folder: Path) -> dict[str, str]:
    """Return Dask's variables for one certificate, its own authority, that all processes hold."""
    key, certificate = str(folder / "node.key"), str(folder / "node.pem")
    line = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=tierwise", "-days", "2"]
    subprocess.run([*line, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    files = {f"{role}__{kind}": path for role in ("SCHEDULER", "WORKER", "CLIENT") for kind, path in (("CERT", certificate), ("KEY", key))}
    return {f"DASK_DISTRIBUTED__COMM__TLS__{name}": path for name, path in {"CA_FILE": certificate, **files}.items()}
