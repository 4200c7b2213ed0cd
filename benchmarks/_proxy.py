"""A TCP proxy that can hold back all bytes, as a broken network does, or break its connections."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading

CHUNK = 1 << 16
LOOK_S = 0.05  # between two looks whether the target is there


class Proxy:
    """Forwards connections from ``address`` to ``target`` ("localhost:port"), in a thread of its own."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"localhost:{self._listener.getsockname()[1]}"
        self._pairs: dict[socket.socket, socket.socket] = {}  # where the bytes of each go
        self._waiting: list[socket.socket] = []  # for a target that is not there
        self._cut = self._break = self._closed = False
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Lets nothing through, and no new connection: both sides hear nothing."""
        self._cut = True
        self._wake.send(b"x")

    def mend(self) -> None:
        """Lets everything through again, what was held back too."""
        self._cut = False
        self._wake.send(b"x")

    def disconnect(self) -> None:
        """Breaks all connections."""
        self._break = True
        self._wake.send(b"x")

    def close(self) -> None:
        self._closed = True
        self._wake.send(b"x")
        self._thread.join()

    def _run(self) -> None:
        while not self._closed:
            with selectors.DefaultSelector() as selector:
                for source in [] if self._cut else [self._listener, *self._pairs]:
                    selector.register(source, selectors.EVENT_READ)
                selector.register(self._woken, selectors.EVENT_READ)
                ready = [key.fileobj for key, _ in selector.select(LOOK_S if self._waiting else None)]
            if self._woken in ready:
                self._woken.recv(CHUNK)
            elif not self._cut:
                for source in ready:
                    self._forward(source)
                self._waiting = [near for near in self._waiting if not self._connected(near)]
            if self._break or self._closed:
                self._break = False
                for source in [*self._pairs, *self._waiting]:
                    self._end(source)
                self._waiting.clear()
        for one in (self._listener, self._wake, self._woken):
            one.close()

    def _forward(self, source: socket.socket) -> None:
        if source is self._listener:
            self._waiting.append(source.accept()[0])
        elif source in self._pairs:
            try:
                data = source.recv(CHUNK)
                self._pairs[source].sendall(data)
            except OSError:
                data = b""
            if not data:
                self._end(source)

    def _connected(self, near: socket.socket) -> bool:
        try:
            far = socket.create_connection(self._target)
        except OSError:  # nobody is there
            return False
        self._pairs.update({near: far, far: near})
        return True

    def _end(self, source: socket.socket) -> None:
        for one in (source, self._pairs.pop(source, None)):
            if one is not None:
                self._pairs.pop(one, None)
                with contextlib.suppress(OSError):
                    one.close()
