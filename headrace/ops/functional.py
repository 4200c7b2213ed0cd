"""Conditionals, loops and calls as nodes that hold their bodies.  A body reaches its kernel as a function made by the planner.

Integer and bool scalars among the inputs and outputs are Python numbers (passes/instantiate.py marks them).

Gradients are taken by ``autodiff.control_flow``, which differentiates the bodies.
"""

from __future__ import annotations

from headrace.core.dtypes import ANY
from headrace.core.registry import op
from headrace.resources.stepping.step import current

arg = op("_Arg(; dtype: type, shape: shape = None) -> (output: dtype)", dtype=ANY, feed=True, argument=True)
arg.not_differentiable()
arg.shape(lambda dtype, shape: shape)


@arg.value
def _(node):
    graph = getattr(node, "graph", None)
    return graph.static_value(node._outputs[0]) if graph is not None and graph.building_function else None


_TRAITS = {"view": True, "opaque": True, "takes_arrays": True}
_EFFECTS = {**_TRAITS, "stateful": True, "writes": True}


def _if(name, traits):
    definition = op(
        f"{name}(cond: bool, input: list(Tin), refs: ref list(Tref); then_branch: func, else_branch: func, "
        "Tout: list(type), output_shapes: list(shape) = None, visible: int = 0) -> (output: list(Tout))",
        Tin=ANY, Tref=ANY, Tout=ANY, **traits,
    )  # fmt: skip
    definition.shape(
        lambda cond, input, refs, then_branch, else_branch, Tout, output_shapes, visible: list(output_shapes)
    )

    @definition.kernel
    def _(cond, input, refs, then_branch, else_branch, Tout, output_shapes, visible, *, node):  # noqa: N803
        return then_branch(*input, *refs) if cond else else_branch(*input, *refs)

    return definition


stateless_if = _if("StatelessIf", _TRAITS)
if_ = _if("If", _EFFECTS)


def _while(name, traits):
    definition = op(
        f"{name}(variables: list(T), input: list(Tin), refs: ref list(Tref); cond: func, body: func, "
        "output_shapes: list(shape) = None, visible: int = 0, parallel_iterations: int = 10, back_prop: bool = True, "
        "swap_memory: bool = False) -> (iterations: int32, output: list(T))",
        T=ANY, Tin=ANY, Tref=ANY, **traits,
    )  # fmt: skip
    definition.shape(
        lambda variables, input, refs, cond, body, output_shapes, visible, parallel_iterations, back_prop, swap_memory: [
            (),
            *output_shapes,
        ]
    )

    @definition.kernel
    def _(
        variables, input, refs, cond, body, output_shapes, visible, parallel_iterations, back_prop, swap_memory, *, node
    ):
        fixed = (*input, *refs)
        argument_list, variables = variables, tuple(variables)
        argument_list.clear()  # nothing else holds the variables then, so what the body no longer needs is freed
        count = 0
        step = current.step
        try:
            while cond(*variables, *fixed)[0]:
                variables = body(*variables, *fixed)
                count += 1
                if step is not None and (step.error is not None or step.until is not None):
                    step.stop_if_over(_looping(node, count))
        except KeyboardInterrupt as e:
            raise _interrupted(e, node, count) from None
        return count, variables

    return definition


def _call(name, traits):
    definition = op(
        f"{name}(args: list(Tin), refs: ref list(Tref); f: func, Tout: list(type), output_shapes: list(shape) = None, "
        'visible: int = 0, config: string = "", config_proto: string = "", executor_type: string = "") -> '
        "(output: list(Tout))",
        Tin=ANY, Tref=ANY, Tout=ANY, **traits,
    )  # fmt: skip
    definition.shape(
        lambda args, refs, f, Tout, output_shapes, visible, config, config_proto, executor_type: list(output_shapes)
    )

    @definition.kernel
    def _(args, refs, f, Tout, output_shapes, visible, config, config_proto, executor_type, *, node):  # noqa: N803
        return f(*args, *refs)

    return definition


partitioned_call = _call("PartitionedCall", _TRAITS)
stateful_partitioned_call = _call("StatefulPartitionedCall", _EFFECTS)


def _looping(node, count):
    return f"after {count} iterations of the loop made at {node.source}"


def _interrupted(interrupt, node, count):
    """Says in which loop the interrupt arrived, unless an inner loop has said so."""
    where = f"interrupted after {count} iterations of the loop made at {node.source}"
    return interrupt if interrupt.args else KeyboardInterrupt(where)


stateless_while = _while("StatelessWhile", _TRAITS)
while_ = _while("While", _EFFECTS)


def _repeat(name, traits):
    definition = op(
        f"{name}(count: host int32, variables: list(T), input: list(Tin), refs: ref list(Tref); body: func, "
        "output_shapes: list(shape) = None, visible: int = 0, parallel_iterations: int = 10, back_prop: bool = True, "
        "swap_memory: bool = False) -> (output: list(T))",
        T=ANY, Tin=ANY, Tref=ANY, **traits,
    )  # fmt: skip
    definition.shape(
        lambda count, variables, input, refs, body, output_shapes, visible, parallel_iterations, back_prop, swap_memory: (
            list(output_shapes)
        )
    )

    @definition.kernel
    def _(
        count, variables, input, refs, body, output_shapes, visible, parallel_iterations, back_prop, swap_memory, *, node
    ):  # fmt: skip
        fixed = (*input, *refs)
        argument_list, variables = variables, tuple(variables)
        argument_list.clear()
        step = current.step
        i = 0
        try:
            for i in range(count):
                variables = body(*variables, *fixed)
                if step is not None and (step.error is not None or step.until is not None):
                    step.stop_if_over(_looping(node, i + 1))
        except KeyboardInterrupt as e:
            raise _interrupted(e, node, i) from None
        return variables

    return definition


stateless_repeat = _repeat("_StatelessRepeat", _TRAITS)
repeat = _repeat("_Repeat", _EFFECTS)
