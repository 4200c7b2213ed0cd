"""The key of a cluster: where it comes from, and the keys of the connections that derive from it.

Who has the key may do everything; who has not may do nothing.  On one machine it is a file that only the user can read, made
when it is first needed.  A server that others can reach needs a key that somebody has given it.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import secrets
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.core.errors import FailedPreconditionError, InvalidArgumentError, PermissionDeniedError
from headrace.core.source import at

KEY: Final = "HEADRACE_CLUSTER_KEY"
KEY_FILE: Final = "HEADRACE_CLUSTER_KEY_FILE"
MIN_LENGTH: Final = 16
ADVISED_LENGTH: Final = 32  # of text that somebody has thought of
_HOW: Final = f"set {KEY} (text of at least {MIN_LENGTH} characters) or {KEY_FILE} to the same key in all tasks"

log: Final = logging.getLogger("headrace.cluster")
_warned: Final[set[bytes]] = set()


@dataclass(frozen=True, slots=True)
class ClusterKey:
    """``explicit``: somebody has given it, and it may guard a server that other machines can reach."""

    secret: bytes
    explicit: bool

    def __repr__(self) -> str:
        return f"ClusterKey(explicit={self.explicit})"  # never the secret

    def derive(self, purpose: str) -> bytes:
        """32 bytes that depend on the key and the purpose, and tell nothing of either."""
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return HKDF(SHA256(), 32, b"headrace cluster 1", purpose.encode()).derive(self.secret)


def cluster_keys(key: str | bytes | None = None) -> list[ClusterKey]:
    """The keys of this process: of ``key``, of ``HEADRACE_CLUSTER_KEY``, or of a file, in this order.

    A second line is a second key: whoever has either may connect.  A server shows itself by the first.
    """
    text = os.environ.get(KEY) if key is None else key
    path = os.environ.get(KEY_FILE)
    where = ""
    if text:
        data, explicit = text.encode() if isinstance(text, str) else text, True
    else:
        file = Path(path) if path else _users_own()
        data, explicit, where = _read(file), bool(path), f" in {file}"
    lines = [line for one in data.split(b"\n") if (line := one.strip())] or [b""]
    if len(lines) > 2 or min(map(len, lines)) < MIN_LENGTH:
        raise InvalidArgumentError(
            None, None,
            f"a cluster's key has at least {MIN_LENGTH} characters, and there are at most two, one in each line: received{where} "
            f"{' and '.join(str(len(line)) for line in lines)} characters",
        )  # fmt: skip
    for line in lines:
        if len(line) < ADVISED_LENGTH and line not in _warned:
            _warned.add(line)
            log.warning(
                "the cluster's key%s has %d characters: a short phrase can be guessed from one recorded connection; this makes a "
                "good one: openssl rand -hex 32", where, len(line),
            )  # fmt: skip
    return [ClusterKey(line, explicit) for line in lines]


def _users_own() -> Path:
    """The file with the key for this user on this machine, made if it is not there."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    path = Path(home) / "headrace" / "cluster.key"
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f".{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(32))
            os.link(draft, path)  # whole or not at all; who comes second takes the key of the first
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path


def _read(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_uid not in (os.geteuid(), 0) or stat.S_IMODE(status.st_mode) & 0o077:
                raise PermissionDeniedError(
                    None, None,
                    f"others may read the cluster's key in {path} (mode {stat.S_IMODE(status.st_mode):o}, user {status.st_uid}); "
                    f"accepted is mode 600 and your own file: chmod 600 {path}",
                )  # fmt: skip
            return file.read(65_536)
    except FileNotFoundError:
        raise FailedPreconditionError(None, None, f"there is no file {path} with the cluster's key; {_HOW}") from None


def check_key_for(address: str, key: ClusterKey, verb: str) -> None:
    """Refuses an address that other machines can reach without a key that somebody has given."""
    if not key.explicit and not is_loopback(split_address(address)[0]):
        what = "is not this machine" if verb == "connect to" else "more than this machine can reach"
        raise FailedPreconditionError(None, None, f"to {verb} {address}, which {what}, a key is needed: {_HOW} {at()}")


def split_address(address: str) -> tuple[str, int]:
    """The host and the port of "host:port"; brackets around an IPv6 address are taken off."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65_535:
        raise InvalidArgumentError(
            None, None, f"an address is host:port, such as localhost:2222: received {address!r} {at()}"
        )
    return host.strip("[]"), int(port)


def numeric(host: str) -> str:
    """The IP address of a host, for a socket to bind; "*" is all."""
    if host in ("*", ""):
        return "0.0.0.0"
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as e:
        raise InvalidArgumentError(None, None, f"the host {host!r} is not known: {e}") from None
    addresses = [str(entry[4][0]) for entry in found]
    return next((a for a in addresses if ":" not in a), addresses[0])


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(numeric(host).partition("%")[0]).is_loopback
    except (InvalidArgumentError, ValueError):
        return False
