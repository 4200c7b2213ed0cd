"""The numbers in the names of Keras's objects: ``dense``, ``dense_1``, ... counted for each graph."""

from __future__ import annotations

from collections.abc import Collection

from headrace.library.backend.graph import all_states, graph_state


def get_uid(prefix: str = "") -> int:
    """A number for the next object of a name, counted from 1 in each graph.

    Args:
      prefix: The name.

    Returns:
      An int.

    >>> tf.keras.backend.get_uid("tower")
    1
    >>> tf.keras.backend.get_uid("tower")
    2
    """
    counts = graph_state().uids
    counts[prefix] += 1
    return counts[prefix]


def reset_uids() -> None:
    """Begins to count the names of objects anew, in every graph.

    >>> tf.keras.backend.get_uid("tower")
    1
    >>> tf.keras.backend.reset_uids()
    >>> tf.keras.backend.get_uid("tower")
    1
    """
    for state in all_states():
        state.uids.clear()


def unique_object_name(name: str, zero_based: bool = False, avoid_names: Collection[str] = ()) -> str:
    """``name_1``, ``name_2``, ...: a name that no other object of the graph has; zero-based, ``name``, ``name_1``, ..."""
    counts = graph_state().uids
    key = "", name
    while True:
        number = counts[key] if zero_based else counts[key] + 1
        counts[key] += 1
        unique = f"{name}_{number}" if number else name
        if unique not in avoid_names:
            return unique
