"""tf.contrib.graph_editor: choosing, copying and rewiring parts of a graph."""

from headrace.library.contrib.graph_editor.element import (
    get_consuming_ops as get_consuming_ops, get_generating_ops as get_generating_ops,
    make_list_of_op as make_list_of_op, make_list_of_t as make_list_of_t,
)
from headrace.library.contrib.graph_editor.reroute import (
    add_control_inputs as add_control_inputs, remove_control_inputs as remove_control_inputs,
    reroute_ts as reroute_ts, swap_ts as swap_ts,
)
from headrace.library.contrib.graph_editor.select import (
    compute_boundary_ts as compute_boundary_ts, filter_ops as filter_ops, filter_ops_from_regex as filter_ops_from_regex,
    filter_ts as filter_ts, filter_ts_from_regex as filter_ts_from_regex,
    get_backward_walk_ops as get_backward_walk_ops, get_forward_walk_ops as get_forward_walk_ops,
    get_name_scope_ops as get_name_scope_ops, get_walks_intersection_ops as get_walks_intersection_ops,
    get_within_boundary_ops as get_within_boundary_ops, select_ops as ops, select_ops as select_ops,
    select_ts as select_ts, select_ts as ts,
)
from headrace.library.contrib.graph_editor.transform import (
    TransformerInfo as TransformerInfo, copy as copy, copy_with_input_replacements as copy_with_input_replacements,
    graph_replace as graph_replace,
)
from headrace.library.contrib.graph_editor.view import (
    SubGraphView as SubGraphView, make_view as make_view, make_view as sgv,
    make_view_from_scope as make_view_from_scope, make_view_from_scope as sgv_scope,
)
