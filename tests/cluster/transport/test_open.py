"""The door to the transport names what is missing."""

import sys

import pytest

from headrace.cluster.transport import open_endpoint


def test_an_endpoint_is_opened():
    server = open_endpoint(None, "localhost:0")
    assert server.address.startswith("localhost:")
    server.close()


@pytest.mark.parametrize("library", ["zmq", "msgspec", "cryptography"])
def test_a_missing_library_is_named_with_the_command(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"{library}: pip install 'headrace\[cluster\]'"):
        open_endpoint()
