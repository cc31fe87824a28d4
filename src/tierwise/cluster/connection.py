"""Connections to a Dask scheduler: which addresses are safe, and what a scheduler must not do."""

from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from tierwise.core.errors import InputError, MissingError


def need_dask() -> None:
    try:
        import distributed  # noqa: F401, PLC0415
    except ImportError as error:
        why, remedy = "workers and campaigns on several machines run on it", "make cluster, or pip install 'tierwise[cluster]'"
        raise MissingError("the package distributed", why=why, remedy=remedy) from error


def checked(address: str) -> str:
    """Return `address`, a scheduler's, if nobody else can send code to its ports: under TLS, or on loopback."""
    parts = urlsplit(address)
    try:
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if parts.scheme not in {"tcp", "tls"} or not host or port is None:
        rule = "must be tls://HOST:PORT, tcp://127.0.0.1:PORT or local"
        raise InputError("SCHEDULER", value=address, rule=rule, remedy="write SCHEDULER=tls://HOST:8786")
    if parts.scheme == "tcp" and not _loopback(host):
        rule = "without TLS, anybody who reaches this port can run programs on every worker"
        raise InputError("SCHEDULER", value=address, rule=rule, remedy="use tls:// with client certificates (docs/cluster.md)")
    return address


def security(address: str) -> Any:
    """Return Dask's keys and certificates for `address`, which Dask reads from its own configuration."""
    from distributed.security import Security  # noqa: PLC0415

    if not address.startswith("tls:"):
        return Security(require_encryption=False)
    found = Security(require_encryption=True)
    lacking = [name for name in ("tls_ca_file", "tls_client_cert", "tls_client_key") if not getattr(found, name)]
    if lacking:
        rule = f"TLS needs {', '.join(lacking)}"
        raise InputError("SCHEDULER", value=address, rule=rule, remedy="set DASK_DISTRIBUTED__COMM__TLS__* (docs/cluster.md)")
    return found


def refuse_unsafe(client: Any, address: str) -> None:
    """Refuse a scheduler that listens beyond loopback without TLS, or moves work to machines that the client did not choose."""
    checked(client.scheduler_info(n_workers=0)["address"])
    if client.run_on_scheduler(lambda dask_scheduler: "stealing" in dask_scheduler.periodic_callbacks):
        remedy = "start it with DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING=False"
        raise InputError("SCHEDULER", value=address, rule="must not steal work from workers", remedy=remedy)


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
