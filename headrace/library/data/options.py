"""tf.data.Options: settings that hold for a dataset and all that is made of it."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at

MOST_PROCESSES = 1024


class _Settings:
    """Named settings, None where nothing was said."""

    _NAMES: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no property {name}: it has {', '.join(self._NAMES)} {at()}")

    def __init__(self) -> None:
        for name in self._NAMES:
            object.__setattr__(self, name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._NAMES:
            raise AttributeError(
                f"Cannot set the property {name} on {type(self).__name__}: it has {', '.join(self._NAMES)} {at()}"
            )
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def merge(self, options: Any) -> Any:
        """These settings, and those of others where they say something."""
        merged = type(self)()
        for name in self._NAMES:
            mine, theirs = getattr(self, name), getattr(options, name)
            both = isinstance(mine, _Settings) and isinstance(theirs, _Settings)
            setattr(merged, name, mine.merge(theirs) if both else mine if theirs is None else theirs)
        return merged


class MapVectorizationOptions(_Settings):
    """Whether functions of `map` are called for many elements together: ``enabled``.  ``use_choose_fastest`` is not used.

    >>> options = tf.data.Options()
    >>> options.experimental_optimization.map_vectorization.enabled = False
    """

    _NAMES = ("enabled", "use_choose_fastest")


class OptimizationOptions(_Settings):
    """How datasets are made faster.  ``map_vectorization`` has an effect; the others are accepted, and decided without them.

    >>> options = tf.data.Options()
    >>> options.experimental_optimization.map_and_batch_fusion = True
    """

    _NAMES = (
        "apply_default_optimizations", "autotune", "autotune_algorithm", "autotune_buffers", "autotune_cpu_budget",
        "filter_fusion", "filter_with_random_uniform_fusion", "hoist_random_uniform", "map_and_batch_fusion",
        "map_and_filter_fusion", "map_fusion", "map_parallelization", "map_vectorization", "noop_elimination",
        "parallel_batch", "shuffle_and_repeat_fusion",
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.map_vectorization = MapVectorizationOptions()


class ThreadingOptions(_Settings):
    """How many threads a dataset uses, as TensorFlow has it: accepted, and decided without it.

    >>> options = tf.data.Options()
    >>> options.experimental_threading.private_threadpool_size = 4
    """

    _NAMES = ("max_intra_op_parallelism", "private_threadpool_size")


class StatsOptions(_Settings):
    """Who is told of what a dataset measures (``aggregator``), with which tags (``prefix``), and whether every transformation is
    measured (``latency_all_edges``).

    >>> options = tf.data.Options()
    >>> options.experimental_stats.aggregator = tf.data.experimental.StatsAggregator()
    """

    _NAMES = ("aggregator", "counter_prefix", "latency_all_edges", "prefix")


class DistributeOptions(_Settings):
    """How a dataset is divided between workers, as TensorFlow has it: accepted, and decided without it.

    >>> options = tf.data.Options()
    >>> options.experimental_distribute.auto_shard = False
    """

    _NAMES = ("auto_shard", "num_devices")


class Options(_Settings):
    """Settings for ``dataset.with_options(options)``.

    ``processes = n``: the functions of ``map`` and ``map_and_batch`` of the datasets before ``with_options`` are called in ``n``
    other processes of this host.

    ``experimental_optimization.map_vectorization.enabled = False``: functions of the datasets before ``with_options`` are called
    for one element at a time.  Otherwise those that can be are called for many at once, which gives the same elements.

    ``experimental_deterministic = False`` lets parallel calls give their results in the order in which they are ready, and
    ``experimental_stats`` names who is told of what the dataset measures (`StatsAggregator`).  The others are accepted
    as TensorFlow has them; what they tune there is decided here without them.

    >>> options = tf.data.Options()
    >>> options.experimental_deterministic = False
    >>> dataset = tf.data.Dataset.range(3).with_options(options)
    """

    _NAMES = (
        "experimental_deterministic", "experimental_distribute", "experimental_optimization", "experimental_slack",
        "experimental_stateful_whitelist", "experimental_stats", "experimental_threading", "processes",
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.experimental_distribute = DistributeOptions()
        self.experimental_optimization = OptimizationOptions()
        self.experimental_stats = StatsOptions()
        self.experimental_threading = ThreadingOptions()

    def checked_processes(self) -> int:
        """The number of processes; refuses what is none."""
        number = 0 if self.processes is None else self.processes
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MOST_PROCESSES:
            raise ValueError(f"options.processes is a number from 0 to {MOST_PROCESSES}, got {number!r} {at()}")
        return number
