"""This process's connection to Ray: to a cluster that is there, or to one of its own on this machine."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import ray
import ray._raylet
import ray.util
from ray._private import ray_constants

MODE: Final = "RAY_AUTH_MODE"
TOKENS: Final = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
REACH_SECONDS: Final = 5.0  # to connect to a Ray cluster


def open_ray(address: str | None, tasks: int, working_dir: str | None) -> bool:
    """Connects to Ray; returns whether this call did, and ``close_ray`` is due.

    ``address``: of a cluster, "auto" for the one of this machine; else that of RAY_ADDRESS; else Ray is started here, with a CPU
    for each of ``tasks`` at least: tasks on one machine share its cores.
    """
    if ray.is_initialized():
        for name, value in (("address", address), ("working_dir", working_dir)):
            if value is not None:
                raise ValueError(
                    f"{name}={value!r} cannot be set: this process has called ray.init already; set it there"
                )
        return False
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    options: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        options |= {"num_cpus": max(os.cpu_count() or 1, tasks), "include_dashboard": False}
    elif working_dir is not None:
        options["runtime_env"] = {"working_dir": working_dir}
    _check_reachable(address)
    try:
        with _own_signals(), _on_loopback(options) if address == "local" else nullcontext():
            ray.init(**options)
    except ConnectionError as e:
        raise ConnectionError(f"no Ray cluster answers at {address!r}: {e}") from None
    except (KeyboardInterrupt, SystemExit):  # the latter is Ray's answer to SIGTERM
        ray.shutdown()
        raise KeyboardInterrupt from None
    except Exception as e:  # Ray's own for a start that takes more than 30 s is of no class of its own
        ray.shutdown()
        raise RuntimeError(f"Ray did not start: {e}") from e
    return True


def _check_reachable(address: str) -> None:
    """Raises if nobody listens at an address.  Ray itself tries for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return  # "auto", "local", or what Ray will refuse
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_SECONDS).close()
    except (OSError, OverflowError) as e:
        raise ConnectionError(f"no Ray cluster answers at {address!r}: {e}") from None


@contextmanager
def _on_loopback(options: dict[str, Any]) -> Iterator[None]:
    """A Ray that is started meanwhile listens on this machine only, and to nobody without its token.

    Left alone, all its ports are open to the network.  Ray takes the loopback address for one that others should reach, unless it
    is told that there is one machine, as on systems where it knows no clusters.
    """
    _ask_for_token()
    options["_node_ip_address"] = "127.0.0.1"
    before, ray_constants.ENABLE_RAY_CLUSTER = ray_constants.ENABLE_RAY_CLUSTER, False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


_lent: list[str] = []  # variables of the environment that are Ray's until it is closed


def _ask_for_token() -> None:
    """Has Ray ask for a token, a new one, unless the user has chosen one, or none (RAY_AUTH_MODE=disabled)."""
    lent = {}
    if MODE not in os.environ:
        lent[MODE] = "token"
    if os.environ.get(MODE, "token") == "token" and not any(name in os.environ for name in TOKENS):
        lent[TOKENS[0]] = secrets.token_hex(32)
    os.environ.update(lent)
    _lent.extend(lent)
    _read_again()


def _read_again() -> None:
    """Ray has read the environment when it was imported."""
    raylet: Any = ray._raylet
    raylet.Config.initialize("")
    raylet.AuthenticationTokenLoader.instance().reset_cache()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keeps this process's handler of SIGTERM: Ray puts one in its place that prints the stack of its C++ code."""
    handler = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_DFL if handler is None else handler)


def close_ray() -> None:
    """Ends the connection, and Ray itself if it was started here."""
    ray.shutdown()
    if _lent:
        for name in _lent:
            os.environ.pop(name, None)
        _lent.clear()
        _read_again()


def own_host() -> str:
    """The IP address of this process's node."""
    return str(ray.util.get_node_ip_address())


def has_working_dir() -> bool:
    """Whether Ray brings a folder of the user's to each node; actors begin in it."""
    return "working_dir" in ray.get_runtime_context().runtime_env
