"""Two hosts and a cable: tasks in two network namespaces, whose link goes down while a step runs and comes up again.

Namespaces need root and `ip` (Debian: iproute2).  `test_faults` has the same cuts without them, by proxies.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HOSTS = ("10.77.0.1", "10.77.0.2")
JOBS = {"ps": [f"{HOSTS[0]}:2222"], "worker": [f"{HOSTS[1]}:2222"]}
PS = "/job:ps/replica:0/task:0"
ROOT = Path(__file__).parents[2]


def ip(*arguments: str) -> None:
    made = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if made.returncode:
        raise RuntimeError(f"ip {' '.join(arguments)}: {made.stderr.strip()}")


class Network:
    """Two namespaces, each with one end of a virtual cable."""

    def __init__(self) -> None:
        self.names = [f"headrace-{os.getpid()}-{i}" for i in range(2)]
        self._roles: list[subprocess.Popen[str]] = []

    def make(self) -> None:
        for name in self.names:
            ip("netns", "add", name)
        ip(
            "link",
            "add",
            "cable",
            "netns",
            self.names[0],
            "type",
            "veth",
            "peer",
            "name",
            "cable",
            "netns",
            self.names[1],
        )
        for name, address in zip(self.names, HOSTS, strict=True):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
            ip("-n", name, "link", "set", "lo", "up")
        self.set_link("up")

    def set_link(self, state: str) -> None:
        for name in self.names:
            ip("-n", name, "link", "set", "cable", state)

    def start(self, host: int, role: str, folder: Path) -> "Role":
        """Starts a function of `_roles` on a host, and waits until it is ready."""
        command = ["ip", "netns", "exec", self.names[host], sys.executable, "-m", "tests.cluster._roles", role]
        environment = {**os.environ, "HEADRACE_CLUSTER_KEY": "a key of this test, which is long enough"}
        process = subprocess.Popen(
            [*command, json.dumps(JOBS), "0", str(folder)], cwd=ROOT, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._roles.append(process)
        started = Role(process)
        assert started.answer() == "ready"
        return started

    def close(self) -> None:
        for process in self._roles:
            process.kill()
            process.communicate()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


class Role:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, what: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "it has ended"
        return json.loads(line)

    def step(self) -> Any:
        self.ask("step")
        return self.answer()


@pytest.fixture
def network() -> Iterator[Network]:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the command ip (Debian: apt-get install iproute2)")
    made = Network()
    try:
        made.make()
    except RuntimeError as e:
        made.close()
        pytest.skip(f"this machine lets root make no network namespaces: {e}")
    yield made
    made.close()


@pytest.mark.timeout(180)
def test_a_link_that_goes_down_ends_the_step_and_a_monitored_session_goes_on(network: Network, tmp_path: Path) -> None:
    network.start(0, "serve", tmp_path)
    chief = network.start(1, "train", tmp_path)
    client = network.start(1, "ask", tmp_path)
    first, second = chief.step(), client.step()
    assert second == first + 1
    client.ask("wait")  # at a queue of the other host
    network.set_link("down")
    what, kind, message = client.answer()
    assert (what, kind) == ("error", "UnavailableError") and PS in message
    chief.ask("step")
    network.set_link("up")
    assert chief.answer() == second + 1
    assert chief.step() == second + 2
