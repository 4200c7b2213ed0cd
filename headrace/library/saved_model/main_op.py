"""Main ops: what runs when a SavedModel is loaded, after its variables are restored."""

from __future__ import annotations

from headrace.graph import context
from headrace.graph.operation import Operation
from headrace.library.control.dependency import group
from headrace.library.state.variables import global_variables_initializer, local_variables_initializer
from headrace.library.text.lookup import tables_initializer


def main_op() -> Operation:
    """An op that initialises all variables and tables."""
    return group(global_variables_initializer(), local_variables_initializer(), tables_initializer())


def main_op_with_restore(restore_op_name: str) -> Operation:
    """An op that initialises all variables and tables, then runs the op of this name, which restores."""
    graph = context.get_default_graph()
    with graph.control_dependencies([main_op()]):
        return group(graph.as_graph_element(restore_op_name))
