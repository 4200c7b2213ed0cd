"""Pages whose programs run: python blocks in order in one namespace, each text block what the block before it printed.

``HEADRACE_UPDATE_DOCS=1 pytest tests/docs`` writes what the programs print now into the pages.  A block after the line
``<!-- as of writing -->`` shows what a better plan may change (which passes there are, the code they lead to): it must print
something, and is brought up to date in the same way, but does not have to be the same.
"""

import contextlib
import io
import os
import re
from pathlib import Path

import headrace as tf
from headrace.runtime.host.device import local_devices, unregister_device

DOCS = Path(__file__).parent.parent.parent / "docs"
UPDATE = os.environ.get("HEADRACE_UPDATE_DOCS", "") not in ("", "0")
_BLOCK = re.compile(r"(<!-- as of writing -->\n)?```(python|text)\n(.*?)```", re.DOTALL)


def run_page(name: str) -> tuple[str, str]:
    """The page as it is, and as it is with every text block replaced by what was printed."""
    text = (DOCS / name).read_text()
    namespace: dict[str, object] = {"__name__": name}
    printed = ""

    def run(found: re.Match[str]) -> str:
        nonlocal printed
        loose, kind, content = found.groups()
        if kind == "text":
            assert printed, f"the block before {content!r} prints nothing"
            return found.group(0) if loose and not UPDATE else f"{loose or ''}```text\n{printed}```"
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(content, name, "exec"), namespace)
        printed = out.getvalue()
        return found.group(0)

    types = {device.device_type for device in local_devices()}
    try:
        with tf.device("/cpu:0"):  # what is printed must not depend on the devices of the machine
            made = _BLOCK.sub(run, text)
    finally:
        for value in namespace.values():
            if isinstance(value, tf.Session):
                value.close()
            if isinstance(value, tf.train.Server):
                value._stop()
        for name in {device.device_type for device in local_devices()} - types:
            unregister_device(name)
    return text, made


def check_page(name: str) -> None:
    text, made = run_page(name)
    if UPDATE:
        (DOCS / name).write_text(made)
    else:
        assert text == made, (
            f"docs/{name} shows what is not so any more; HEADRACE_UPDATE_DOCS=1 pytest tests/docs rewrites it"
        )
