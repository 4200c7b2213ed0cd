"""tf.contrib.copy_graph: nodes and variables of one graph copied into another."""

from headrace.library.contrib.copy_graph import copy_op_to_graph as copy_op_to_graph
from headrace.library.contrib.copy_graph import copy_variable_to_graph as copy_variable_to_graph
from headrace.library.contrib.copy_graph import get_copied_op as get_copied_op
