"""The connection to Ray: what is refused before Ray is asked."""

import socket

import pytest

pytest.importorskip("ray")

from headrace.cluster.ray_engine import engine


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_where_nobody_listens_is_refused_immediately(scheme: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"{scheme}127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ConnectionError, match=f"no Ray cluster answers at '{address}'.*refused"):
            engine.open_ray(address, 1, None)


def test_a_host_that_is_not_known_is_refused() -> None:
    with pytest.raises(ConnectionError, match="no Ray cluster answers at 'no-such-host.invalid:6379'"):
        engine.open_ray("no-such-host.invalid:6379", 1, None)
