"""The ``headrace`` command.  Each command is a function elsewhere; this gives it its place on the command line."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from headrace.tools import explain as explaining
from headrace.tools import launch as launching
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

    program = Annotated[list[str], typer.Argument(help="A Python file, or -m and a module; then its own arguments.")]
    step = Annotated[int | None, typer.Option(help="Explain this request, counted from 1.", min=1)]
    fetch = Annotated[str | None, typer.Option(help="Explain the first request that fetches this tensor or operation.")]
    passes = Annotated[str | None, typer.Option(help="What passes did: 'all', or names: fold,cse.")]
    as_json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

    def explain(program, step=None, fetch=None, passes=None, as_json=False):
        names = False if passes is None else explaining.pass_names(passes)
        raise typer.Exit(explaining.explain_program(program, explaining.Choice(step, fetch, names, as_json)))

    explain.__annotations__ = {"program": program, "step": step, "fetch": fetch, "passes": passes, "as_json": as_json}
    explain.__doc__ = "Run a program up to a step, by default the one of its loop, and say how that step would run."
    own_arguments = {"ignore_unknown_options": True, "allow_interspersed_args": False}
    app.command(context_settings=own_arguments)(explain)

    target = Annotated[str, typer.Argument(help="grpc://host:port of any task of the cluster.")]
    once = Annotated[bool, typer.Option("--json", help="Print JSON, once.")]
    interval = Annotated[float, typer.Option(help="Seconds between two looks.", min=0.05)]

    def top(target, as_json=False, interval=1.0):
        from headrace.tools.top import show_cluster

        raise typer.Exit(show_cluster(target, as_json, interval))

    top.__annotations__ = {"target": target, "as_json": once, "interval": interval}
    top.__doc__ = "Show what the tasks of a running cluster do: steps, links, queues, who waits on what."
    app.command()(top)
    app.command(context_settings=own_arguments)(launching.command(typer))

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
