"""Watches the requests of a program that runs in this process: what each `Session.run` of its main thread asks for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.client.fetch import Fetches
from headrace.client.session import BaseSession

Call = Callable[..., Any]  # runs the step; takes both `options` and `run_metadata` in place of the program's, or none
Around = Callable[
    [BaseSession, Any, Any, Call], Any
]  # gets session, fetches, feeds and the call; returns the step's results


@contextmanager
def watching(around: Around) -> Iterator[None]:
    """Runs of the main thread go through ``around``, those of callables too."""
    run, make_callable = BaseSession.run, BaseSession.make_callable

    def watched_run(
        self: BaseSession, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        def call(**other: Any) -> Any:
            results = run(self, fetches, feed_dict, **{"options": options, "run_metadata": run_metadata, **other})
            if other and run_metadata is not None:  # the program looks at its own
                run_metadata.step_stats = other["run_metadata"].step_stats
            return results

        return around(self, fetches, feed_dict, call) if is_main() else call()

    def watched_callable(
        self: BaseSession, fetches: Any, feed_list: Any = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        plain = make_callable(self, fetches, feed_list, accept_options)

        def watched(*values: Any, **given: Any) -> Any:
            def call(**options: Any) -> Any:
                chosen = make_callable(self, fetches, feed_list, True) if options else plain
                return chosen(*values, **{**given, **options})

            feeds = dict(zip(feed_list or (), values, strict=False))
            return around(self, fetches, feeds, call) if is_main() else call()

        return watched

    BaseSession.run, BaseSession.make_callable = watched_run, watched_callable  # type: ignore[method-assign]
    try:
        yield
    finally:
        BaseSession.run, BaseSession.make_callable = run, make_callable  # type: ignore[method-assign]


def is_main() -> bool:
    """Whether this is the thread of the program itself."""
    return threading.current_thread() is threading.main_thread()


def asked(session: BaseSession, fetches: Any, feed_dict: Any) -> tuple[list[str], Any]:
    """The names of what a run fetches, and a key that is the same for runs of the same request."""
    flat = Fetches(session.graph, fetches)
    names = [t.name for t in flat.tensors] + [op.name for op in flat.targets]
    return names, (session.graph, *names, None, *(str(getattr(key, "name", key)) for key in feed_dict or ()))


def fetches_name(names: Sequence[str], fetch: str) -> bool:
    """Whether a tensor or an operation is among what is fetched: ``loss`` is ``loss:0`` too."""
    return any(fetch in (name, name.partition(":")[0]) for name in names)
