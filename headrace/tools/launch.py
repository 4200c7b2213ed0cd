"""``headrace launch --ps 2 --workers 4 train.py --batch=64``: a program as parameter servers and workers on Ray.

Every task runs the same script, with ``TF_CONFIG`` set and the flags that it defines of ``--job_name``, ``--task_index``,
``--ps_hosts``, ``--worker_hosts``.  With ``--auto`` the number of servers, and what `tf.train.replicas` with mode "auto" does,
are chosen from a short profile (`headrace.tools.auto`).  A task that fails is started again, a few times.  The command ends when
all workers have ended, or with the code of the first task that failed for good.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Annotated, Any, NoReturn

from headrace.cluster import jobs, ray_engine
from headrace.cluster.ray_engine import keeper
from headrace.cluster.ray_engine.options import Options
from headrace.core.policy import CHANGES, VARIABLE
from headrace.tools.auto import Told, policy_for

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


def launch_auto(program: list[str], told: Told, policy: str | None, dry_run: bool, **options: Any) -> int:
    """Chooses how to run a script, says why, and runs it so; ``policy``: the file that the choice goes to."""
    try:
        asked = Options(ps=told.ps or 1, program=program, **options)
        asked.check()
        asked.script()
        chosen = policy_for(program, told, policy)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (OSError, RuntimeError, ValueError) as e:
        print(f"headrace launch: {e}", file=sys.stderr)
        return 2
    if dry_run:
        return 0
    os.environ[VARIABLE] = chosen.to_json()  # which all tasks get
    return launch(program, ps=chosen.servers, **options)


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
        program, ps=None, workers=1, chief=False, gpus_per_worker=0.0, cpus_per_worker=1.0, cpus_per_ps=1.0, address=None,
        working_dir=None, flags=None, wait=None, restarts=3, restart_window=600.0, auto=False, allow="", slow=None, link=None,
        measure=True, policy=None, dry_run=False,
    ):  # fmt: skip
        options = {
            "workers": workers, "chief": chief, "gpus_per_worker": gpus_per_worker, "cpus_per_worker": cpus_per_worker,
            "cpus_per_ps": cpus_per_ps, "address": address, "working_dir": working_dir, "flags": flags, "wait": wait,
            "restarts": restarts, "restart_window": restart_window,
        }  # fmt: skip
        if not auto:
            alone = {"allow": allow, "slow": slow, "link": link, "policy": policy, "dry-run": dry_run}
            for name, value in alone.items():
                if value:
                    print(f"headrace launch: --{name} is for --auto", file=sys.stderr)
                    raise typer.Exit(2)
            raise typer.Exit(launch(program, ps=ps or 0, **options))
        here = (address or os.environ.get("RAY_ADDRESS") or "local") == "local"
        told = Told(workers, ps, allow, slow, link, here, measure)
        raise typer.Exit(launch_auto(program, told, policy, dry_run, **options))

    def option(annotation: Any, text: str) -> Any:
        return Annotated[annotation, typer.Option(help=text)]

    run.__name__ = "launch"
    run.__doc__ = "Run a program as parameter servers and workers on Ray: on this machine, or on a Ray cluster."
    run.__doc__ += "\n\nExample: headrace launch --ps 2 --workers 4 train.py --batch=64"
    run.__doc__ += ", or headrace launch --auto --workers 4 train.py"
    run.__annotations__ = {
        "program": Annotated[list[str], typer.Argument(help="A Python file; then its own arguments.")],
        "ps": option(int | None, "Number of parameter servers; 0, or with --auto what it chooses."),
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
        "auto": option(bool, "Choose servers and the mode of tf.train.replicas from a short profile, and say why."),
        "allow": option(str, f"With --auto: what may change what is computed: some of {','.join(CHANGES)}."),
        "slow": option(str | None, "With --auto: how slow steps are: none, pareto:SHAPE, lognormal:SPREAD, one:TIMES."),
        "link": option(str | None, "With --auto: the network of each task: its speed and latency, 10Gbit,0.1ms."),
        "measure": Annotated[
            bool, typer.Option("--measure/--no-measure", help="With --auto: measure what messages cost here.")
        ],
        "policy": option(str | None, "With --auto: a file for the choice; HEADRACE_POLICY=FILE tells it to other tasks."),
        "dry_run": option(bool, "With --auto: only choose."),
    }  # fmt: skip
    return run
