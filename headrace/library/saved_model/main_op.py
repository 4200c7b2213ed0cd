"""Main ops: what runs when a SavedModel is loaded, after its variables are restored."""

from __future__ import annotations

from headrace.graph import context
from headrace.graph.operation import Operation
from headrace.library.control.dependency import group
from headrace.library.state.variables import global_variables_initializer, local_variables_initializer
from headrace.library.text.lookup import tables_initializer


def main_op() -> Operation:
    """An op that initialises all variables and tables.

    Returns:
      An operation.

    >>> tf.saved_model.main_op.main_op().type
    'NoOp'
    """
    return group(global_variables_initializer(), local_variables_initializer(), tables_initializer())


def main_op_with_restore(restore_op_name: str) -> Operation:
    """An op that initialises all variables and tables, then runs the op of this name, which restores.

    Args:
      restore_op_name: The name of the operation, or tensor, to run last.

    Returns:
      An operation.

    Example: ``tf.saved_model.main_op_with_restore("save/restore_all")``
    """
    graph = context.get_default_graph()
    with graph.control_dependencies([main_op()]):
        return group(graph.as_graph_element(restore_op_name))
