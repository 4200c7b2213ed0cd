"""The ``headrace`` command.  Each command is a function elsewhere; this gives it its place on the command line."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Literal, get_args

from headrace.tools import explain as explaining
from headrace.tools import launch as launching
from headrace.tools import port as porting
from headrace.tools import simulate as simulating

MISSING = "headrace: the command line needs typer: pip install typer"
OWN_ARGUMENTS = {"ignore_unknown_options": True, "allow_interspersed_args": False}  # those of the program that is run


def build(typer: Any) -> Any:
    """The command line; `typer` is handed in so that importing this file needs none."""
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)
    paths = Annotated[list[str], typer.Argument(help="Python files, or folders of them.")]
    only_missing = Annotated[bool, typer.Option("--missing", help="Show what is missing only.")]

    def port(paths, missing=False):
        raise typer.Exit(porting.report(paths, missing))

    port.__annotations__ = {"paths": paths, "missing": only_missing}
    port.__doc__ = "Report which TensorFlow names a program uses and which of them Headrace lacks, without running it."
    port.__doc__ += "\n\nExample: headrace port train.py models/"
    app.command(short_help="Which TensorFlow names a program uses, and which are missing.")(port)

    program = Annotated[list[str], typer.Argument(help="A Python file, or -m and a module; then its own arguments.")]
    step = Annotated[int | None, typer.Option(help="Explain this request, counted from 1.", min=1)]
    fetch = Annotated[str | None, typer.Option(help="Explain the first request that fetches this tensor or operation.")]
    passes = Annotated[str | None, typer.Option(help="What passes did: 'all', or names: fold,cse.")]
    as_json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

    nodes = Annotated[bool, typer.Option("--nodes", help="Show every node, strand and message.")]

    def explain(program, step=None, fetch=None, passes=None, as_json=False, nodes=False):
        names = False if passes is None else explaining.pass_names(passes)
        raise typer.Exit(explaining.explain_program(program, explaining.Choice(step, fetch, names, as_json, nodes)))

    explain.__annotations__ = {
        "program": program, "step": step, "fetch": fetch, "passes": passes, "as_json": as_json, "nodes": nodes,
    }  # fmt: skip
    explain.__doc__ = "Run a program up to a step, by default the one of its loop, and say how that step would run."
    explain.__doc__ += "\n\nExample: headrace explain train.py --batch=64"
    app.command(context_settings=OWN_ARGUMENTS, short_help="How a step of a program would run.")(explain)
    simulate = simulating.command(typer)
    app.command(context_settings=OWN_ARGUMENTS, short_help="What a program would do on many machines.")(simulate)
    _add_trace(app, typer, as_json)
    _add_train(app, typer, program)

    target = Annotated[str, typer.Argument(help="grpc://host:port of any task of the cluster.")]
    once = Annotated[bool, typer.Option("--json", help="Print JSON, once.")]
    interval = Annotated[float, typer.Option(help="Seconds between two looks.", min=0.05)]

    found = Annotated[str | None, typer.Argument(help="grpc://host:port of any task; else the job of this machine.")]

    svg = Annotated[str | None, typer.Option("--svg", help="Where the tables go as a picture, once.")]

    def top(target=None, as_json=False, interval=1.0, svg=None):
        from headrace.tools.top import show_cluster

        raise typer.Exit(show_cluster(target, as_json, interval, svg))

    top.__annotations__ = {"target": found, "as_json": once, "interval": interval, "svg": svg}
    top.__doc__ = "Show what the tasks of a running cluster do: steps, links, queues, who waits on what."
    top.__doc__ += "\n\nExample: headrace top, or headrace top grpc://localhost:2222"
    app.command(short_help="What the tasks of a running cluster do.")(top)
    launch = launching.command(typer)
    app.command(context_settings=OWN_ARGUMENTS, short_help="Run a program as servers and workers on Ray.")(launch)
    _add_moves(app, typer, target)
    _add_own(app, typer, as_json)
    for command in app.registered_commands:
        _say_plainly(typer, command.callback.__annotations__)
        command.cls = _command_without_types(typer)
    return app


def _command_without_types(typer: Any) -> Any:
    """The class of commands whose help names arguments without their Python types."""

    class Command(typer.core.TyperCommand):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            for parameter in self.params:
                if parameter.param_type_name == "argument":
                    parameter.display_type = lambda ctx: None  # what the help's line of the argument asks for

    return Command


def _say_plainly(typer: Any, annotations: Any) -> None:
    """Options take TEXT and NUMBER; typer's own words for them are Python's."""
    for annotated in annotations.values():
        annotation, said = annotated.__origin__, annotated.__metadata__[0]
        types = {annotation, *get_args(annotation)}
        if (
            isinstance(said, typer.models.OptionInfo)
            and said.metavar is None
            and not types.isdisjoint((str, int, float, list[str]))
        ):
            said.metavar = "NUMBER" if types.isdisjoint((str, list[str])) else "TEXT"


def _add_trace(app: Any, typer: Any, as_json: Any) -> None:
    steps = Annotated[int, typer.Option(help="How many steps to trace.", min=1)]
    fetch = Annotated[str | None, typer.Option(help="Trace the first request that fetches this tensor or operation.")]
    out = Annotated[str, typer.Option(help="Where the timeline goes.")]
    go_on = Annotated[bool, typer.Option("--go-on", help="Let the program go on after the traced steps.")]
    read = Annotated[bool, typer.Option("--read", help="Judge traces of several workers together: w0.json w1.json ...")]

    svg = Annotated[str | None, typer.Option("--svg", help="Where a picture of the last step goes.")]

    seconds = Annotated[float, typer.Option(help="How long to wait for steps of a job that runs.", min=0.1)]
    said = (
        "A Python file, or -m and a module; then its own arguments. Or grpc://host:port of a job that runs, or traces."
    )
    traced = Annotated[list[str], typer.Argument(help=said, metavar="PROGRAM")]

    def trace(
        program, steps=5, fetch=None, out="trace.json", svg=None, go_on=False, read=False, seconds=30.0, as_json=False
    ):
        from headrace.tools.trace import Choice
        from headrace.tools.trace import trace as run_trace

        choice = Choice(steps, fetch, out, as_json, go_on=go_on, picture=svg)
        raise typer.Exit(run_trace(program, choice, read, seconds))

    trace.__annotations__ = {
        "program": traced, "steps": steps, "fetch": fetch, "out": out, "svg": svg, "go_on": go_on, "read": read,
        "seconds": seconds, "as_json": as_json,
    }  # fmt: skip
    trace.__doc__ = (
        "Trace some steps of a program's loop, or of a job that runs, and say where their time goes: slow ops, waits, "
        "stragglers."
    )
    trace.__doc__ += (
        "\n\nExample: headrace trace --steps 5 train.py --batch=64, or headrace trace grpc://localhost:2222"
    )
    app.command(context_settings=OWN_ARGUMENTS, short_help="Where the time of a program's steps goes.")(trace)


def _add_train(app: Any, typer: Any, program: Any) -> None:
    every = Annotated[float, typer.Option(help="Seconds between two lines of progress; 0: only the last.", min=0.0)]
    modes = Literal["auto", "off", "always"] | None
    mode = Annotated[modes, typer.Option("--compile", help="Whether steps are compiled; wins over the program.")]
    check = Annotated[bool, typer.Option("--check-numerics", help="Stop where a number becomes NaN or infinite.")]
    traced = Annotated[str | None, typer.Option("--trace", help="Where a timeline of five steps goes.")]
    lines = Annotated[bool, typer.Option("--json", help="Lines of progress as JSON.")]

    def train(program, every=10.0, mode=None, check=False, trace=None, as_json=False):
        from headrace.tools.train import Progress, set_environment, train

        set_environment(mode, check)
        raise typer.Exit(train(program, Progress(every, as_json), trace))

    train.__annotations__ = {
        "program": program, "every": every, "mode": mode, "check": check, "trace": traced, "as_json": lines
    }  # fmt: skip
    train.__doc__ = "Run a TensorFlow 1 program, unedited, and say how fast it goes: a line on stderr now and then."
    train.__doc__ += "\n\nExample: headrace train --check-numerics train.py --batch=64"
    app.command(context_settings=OWN_ARGUMENTS, short_help="Run a TensorFlow 1 program, unedited.")(train)


def _add_moves(app: Any, typer: Any, target: Any) -> None:
    """The commands for tasks that change their process."""
    task = Annotated[str, typer.Option(help="The task to move: ps:2.")]
    to = Annotated[str, typer.Option(help="host:port of the server that is to have it, as all tasks reach it.")]
    there = Annotated[int, typer.Option("--port", help="Where it listens there; 0: any free port.", min=0, max=65535)]
    wait = Annotated[float, typer.Option(help="Seconds for the steps under way to end.", min=0)]

    def move(target, task, to, port=0, wait=60.0):
        from headrace.tools.move import move

        raise typer.Exit(move(target, task, to, port, wait))

    move.__annotations__ = {"target": target, "task": task, "to": to, "port": there, "wait": wait}
    move.__doc__ = "Move a task of a running cluster, with all its state, to another server process."
    move.__doc__ += "\n\nExample: headrace move grpc://host1:2222 --task ps:2 --to host3:2222"
    app.command(short_help="Move a task of a running cluster to another process.")(move)

    address = Annotated[str, typer.Argument(help="host:port to serve at, as all tasks reach it.")]
    cluster = Annotated[str | None, typer.Option(help="grpc://host:port of any task of a cluster that it is to join.")]
    tasks = Annotated[list[str] | None, typer.Option("--task", help="A task to take over: ps:2. May be repeated.")]

    def serve(address, cluster=None, tasks=None):
        from headrace.tools.move import serve

        raise typer.Exit(serve(address, cluster, tasks or ()))

    serve.__annotations__ = {"address": address, "cluster": cluster, "tasks": tasks}
    serve.__doc__ = "Serve without a task, or with tasks of a running cluster that are taken over."
    serve.__doc__ += "\n\nExample: headrace serve host3:2222 --cluster grpc://host1:2222 --task ps:2"
    app.command(short_help="A server process that takes over tasks.")(serve)


def _add_own(app: Any, typer: Any, as_json: Any) -> None:
    """The commands about Headrace itself."""
    self_test = Annotated[bool, typer.Option("--test/--no-test", help="Try a training step, the compiler, a server.")]
    prune = Annotated[float | None, typer.Option(help="Remove what was not used for so many days.", min=0.0)]

    measured = Annotated[bool, typer.Option("--measure", help="Measure how fast devices and links are, once more.")]

    def doctor(as_json=False, test=True, measure=False):
        from headrace.tools.doctor import examine

        raise typer.Exit(examine(as_json, test, measure))

    doctor.__annotations__ = {"as_json": as_json, "test": self_test, "measure": measured}
    doctor.__doc__ = "Say whether this machine is all right: versions, devices, compiler, settings, what is missing."
    doctor.__doc__ += "\n\nExample: headrace doctor"
    app.command(short_help="Is this machine all right?")(doctor)

    def cache(prune=None, as_json=False):
        from headrace.tools.cache import show

        raise typer.Exit(show(prune, as_json))

    cache.__annotations__ = {"prune": prune, "as_json": as_json}
    cache.__doc__ = "Say where compiled code is kept and how large it is.\n\nExample: headrace cache --prune 30"
    app.command(short_help="Where compiled code is kept; --prune removes old code.")(cache)

    seconds = Annotated[float, typer.Option(help="How long to measure, in all.", min=0.0)]

    def bench(seconds=10.0, as_json=False):
        from headrace.tools.bench import bench

        raise typer.Exit(bench(seconds, as_json))

    bench.__annotations__ = {"seconds": seconds, "as_json": as_json}
    bench.__doc__ = (
        "Measure this machine for ten seconds: steps of four sizes, a queue, a checkpoint; and say what is usual."
    )
    bench.__doc__ += "\n\nExample: headrace bench"
    app.command(short_help="How fast is this machine?")(bench)

    path = Annotated[str, typer.Argument(help="A file, a folder, or the prefix of a checkpoint.")]
    limit = Annotated[int, typer.Option(help="Rows to show; 0: all.", min=0)]

    png = Annotated[str | None, typer.Option(help="Where a picture of an event file's scalars goes.", metavar="FILE")]

    def inspect(path, as_json=False, limit=50, png=None):
        from headrace.tools.inspect import show

        raise typer.Exit(show(path, as_json, limit, png))

    inspect.__annotations__ = {"path": path, "as_json": as_json, "limit": limit, "png": png}
    inspect.__doc__ = "Say what is in a checkpoint, a SavedModel, a graph, an event file or a file of records."
    inspect.__doc__ += "\n\nExample: headrace inspect model/"
    app.command(short_help="What is in a checkpoint, SavedModel, graph, event or record file.")(inspect)

    first = Annotated[str, typer.Argument(help="A graph, a SavedModel, or a checkpoint.")]
    second = Annotated[str, typer.Argument(help="Another one.")]
    rtol = Annotated[float, typer.Option(help="Relative difference of values that is allowed.", min=0.0)]
    atol = Annotated[float, typer.Option(help="Absolute difference of values that is allowed.", min=0.0)]

    def compare(first, second, as_json=False, rtol=0.0, atol=0.0):
        from headrace.tools.compare import show

        raise typer.Exit(show(first, second, as_json, rtol, atol))

    compare.__annotations__ = {"first": first, "second": second, "as_json": as_json, "rtol": rtol, "atol": atol}
    compare.__doc__ = "Say what differs between two graphs, SavedModels or checkpoints; exits with 1 if anything does."
    compare.__doc__ += "\n\nExample: headrace compare model/ckpt-1000 model/ckpt-2000"
    app.command(short_help="What differs between two graphs, SavedModels or checkpoints.")(compare)

    def demo(arguments=()):
        from headrace.tools.demo import main as run_demo

        raise typer.Exit(run_demo(arguments))

    own = "[--steps N] [--batch-size N] [--seed N] [--goal X] [--folder PATH]"
    demo.__annotations__ = {
        "arguments": Annotated[list[str] | None, typer.Argument(help="How long, and where to.", metavar=own)]
    }
    demo.__doc__ = "Train a small network on handwritten digits.\n\nExample: headrace demo --steps 500"
    app.command(context_settings=OWN_ARGUMENTS, short_help="Train a small network on handwritten digits.")(demo)

    def version(as_json=False):
        from headrace.tools.doctor import versions

        own, *others = (f"{name} {number}" for name, number in versions().items())
        print(json.dumps(versions()) if as_json else f"{own} ({', '.join(others)})")

    version.__annotations__ = {"as_json": as_json}
    version.__doc__ = "Say which version of Headrace this is, and on what it runs.\n\nExample: headrace version --json"
    app.command()(version)

    def say_version(asked):
        if asked:
            version()
            raise typer.Exit

    @app.callback()
    def root(version=False) -> None:
        pass

    option = typer.Option("--version", help="Show the version and exit.", callback=say_version, is_eager=True)
    root.__annotations__ = {"version": Annotated[bool, option]}
    root.__doc__ = "Headrace: TensorFlow 1 programs on PyTorch."


def main() -> int:
    """The console script."""
    try:
        import typer
    except ImportError:
        print(MISSING, file=sys.stderr)
        return 2
    build(typer)()
    return 0
