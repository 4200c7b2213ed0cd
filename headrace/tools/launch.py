"""``headrace launch --ps 2 --workers 4 train.py --batch=64``: a program as parameter servers and workers on Ray.

Every task runs the same script, with ``TF_CONFIG`` set and the flags that it defines of ``--job_name``, ``--task_index``,
``--ps_hosts``, ``--worker_hosts``.  A task that fails is started again, a few times.  The command ends when all workers have
ended, or with the code of the first task that failed for good.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Annotated, Any, NoReturn

from headrace.cluster import jobs, ray_engine
from headrace.cluster.ray_engine import keeper

INTERRUPTED = 130


def launch(program: list[str], **options: Any) -> int:
    """Runs a script and its arguments on a cluster; returns the exit code.  ``options``: those of ``headrace.cluster.ray``."""
    keeper.adopt_orphans()
    try:
        with _signals_interrupt(), ray_engine.start(program=program, **options) as running, _noted(running, program):
            return running.wait()
    except KeyboardInterrupt:
        keeper.end_children()  # if Ray was just starting, it leaves agents that live for another minute
        print("headrace launch: interrupted; all tasks are stopped", file=sys.stderr)
        return INTERRUPTED
    except (ConnectionError, FileNotFoundError, ImportError, RuntimeError, TimeoutError, ValueError) as e:
        print(f"headrace launch: {e}", file=sys.stderr)
        return 2


def _noted(running: Any, program: list[str]) -> AbstractContextManager[None]:
    return jobs.noted(running.target, " ".join(program))


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """SIGTERM and SIGHUP do what Ctrl-C does."""

    def interrupt(number: int, frame: Any) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def command(typer: Any) -> Callable[..., None]:
    """The command for the command line; ``typer`` is handed in so that importing this file needs none."""

    def run(
        program, ps=0, workers=1, chief=False, gpus_per_worker=0.0, cpus_per_worker=1.0, cpus_per_ps=1.0, address=None,
        working_dir=None, flags=None, wait=None, restarts=3, restart_window=600.0,
    ):  # fmt: skip
        raise typer.Exit(
            launch(
                program, ps=ps, workers=workers, chief=chief, gpus_per_worker=gpus_per_worker,
                cpus_per_worker=cpus_per_worker, cpus_per_ps=cpus_per_ps, address=address, working_dir=working_dir,
                flags=flags, wait=wait, restarts=restarts, restart_window=restart_window,
            )
        )  # fmt: skip

    def option(annotation: Any, text: str) -> Any:
        return Annotated[annotation, typer.Option(help=text)]

    run.__name__ = "launch"
    run.__doc__ = "Run a program as parameter servers and workers on Ray: on this machine, or on a Ray cluster."
    run.__doc__ += "\n\nExample: headrace launch --ps 2 --workers 4 train.py --batch=64"
    run.__annotations__ = {
        "program": Annotated[list[str], typer.Argument(help="A Python file; then its own arguments.")],
        "ps": option(int, "Number of parameter servers."),
        "workers": option(int, "Number of workers."),
        "chief": option(bool, "Make the first worker the chief, as tf.estimator wants."),
        "gpus_per_worker": option(float, "GPUs for each worker."),
        "cpus_per_worker": option(float, "CPUs for each worker."),
        "cpus_per_ps": option(float, "CPUs for each parameter server."),
        "address": option(str | None, "A Ray cluster; 'auto': that of this machine. Else RAY_ADDRESS, else Ray is started."),
        "working_dir": option(str | None, "Folder that Ray brings to every node."),
        "flags": option(bool | None, "Add --job_name and kin, or none; else those that the script defines."),
        "wait": option(float | None, "Seconds to wait for room on the cluster, or for the cluster to grow."),
        "restarts": option(int, "How often a task that fails is started again within --restart-window; 0: the job ends."),
        "restart_window": option(float, "Seconds within which --restarts counts."),
    }  # fmt: skip
    return run
