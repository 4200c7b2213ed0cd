"""A callback that sends figures to a server."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlencode, urlsplit

from headrace.core.source import at
from headrace.library import log
from headrace.library.keras.callbacks.callback import Callback, Logs


class RemoteMonitor(Callback):
    """Sends the figures of each epoch to a server by HTTP POST.

    Args:
      root: The address of the server.
      path: The path at the server.
      field: The name of the field of a form that has the figures as JSON.
      headers: A dict of further HTTP headers.
      send_as_json: Whether the body is the JSON itself rather than a form.

    >>> tell = tf.keras.callbacks.RemoteMonitor(root='http://localhost:9000')
    """

    def __init__(
        self, root: str = "http://localhost:9000", path: str = "/publish/epoch/end/", field: str = "data",
        headers: dict[str, str] | None = None, send_as_json: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if urlsplit(root).scheme not in ("http", "https"):
            raise ValueError(
                f"RemoteMonitor sends by HTTP: root must begin with http:// or https://, got {root!r} {at()}"
            )
        self.root, self.path, self.field, self.headers, self.send_as_json = root, path, field, headers, send_as_json

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        figures: dict[str, Any] = {"epoch": epoch, **{name: float(value) for name, value in (logs or {}).items()}}
        text = json.dumps(figures)
        body = text if self.send_as_json else urlencode({self.field: text})
        content = "application/json" if self.send_as_json else "application/x-www-form-urlencoded"
        request = urllib.request.Request(
            self.root + self.path, body.encode(), {"Content-Type": content, **(self.headers or {})}, method="POST"
        )
        try:
            urllib.request.urlopen(request, timeout=10).close()
        except (urllib.error.URLError, OSError) as error:
            log.warning(f"Could not reach RemoteMonitor root server at {self.root}: {error}")
