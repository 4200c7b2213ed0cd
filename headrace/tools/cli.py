"""The ``headrace`` command.  Each command is a function elsewhere; this gives it its place on the command line."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from headrace.tools import port as porting

MISSING = "headrace: the command line needs typer: pip install 'headrace[cli]'"


def build(typer: Any) -> Any:
    """The command line; `typer` is handed in so that importing this file needs none."""
    app = typer.Typer(add_completion=False, no_args_is_help=True, help="Headrace: TensorFlow 1 programs on PyTorch.")
    paths = Annotated[list[str], typer.Argument(help="Python files, or folders of them.")]
    only_missing = Annotated[bool, typer.Option("--missing", help="Show what is missing only.")]

    def port(paths, missing=False):
        raise typer.Exit(porting.report(paths, missing))

    port.__annotations__ = {"paths": paths, "missing": only_missing}
    port.__doc__ = "Report which TensorFlow names a program uses and which of them Headrace lacks, without running it."
    app.command()(port)

    @app.callback()
    def root() -> None:
        pass

    root.__doc__ = "Headrace: TensorFlow 1 programs on PyTorch."
    return app


def main() -> int:
    """The console script."""
    try:
        import typer
    except ImportError:
        print(MISSING, file=sys.stderr)
        return 2
    build(typer)()
    return 0
