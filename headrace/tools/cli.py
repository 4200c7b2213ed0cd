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

    task = Annotated[str, typer.Option(help="The task to move: ps:2.")]
    to = Annotated[str, typer.Option(help="host:port of the server that is to have it, as all tasks reach it.")]
    there = Annotated[
        int, typer.Option(help="Where it is to listen there; 0: any port that is free.", min=0, max=65535)
    ]
    wait = Annotated[float, typer.Option(help="Seconds for the steps under way to end.", min=0)]

    def move(target, task, to, port=0, wait=60.0):
        from headrace.tools import move as moving

        raise typer.Exit(moving.move(target, task, to, port, wait))

    move.__annotations__ = {"target": target, "task": task, "to": to, "port": there, "wait": wait}
    move.__doc__ = "Move a task of a running cluster, with all its state, to another server process."
    app.command()(move)

    address = Annotated[str, typer.Argument(help="host:port to serve at, as all tasks reach it.")]
    cluster = Annotated[str | None, typer.Option(help="grpc://host:port of any task of a cluster that it is to join.")]
    tasks = Annotated[
        list[str], typer.Option("--task", help="A task of that cluster to take over: ps:2. May be repeated.")
    ]

    def serve(address, cluster=None, tasks=()):
        from headrace.tools import move as moving

        raise typer.Exit(moving.serve(address, cluster, tasks))

    serve.__annotations__ = {"address": address, "cluster": cluster, "tasks": tasks}
    serve.__doc__ = "Serve without a task, or with tasks taken over from others: see 'headrace move'."
    app.command()(serve)

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
