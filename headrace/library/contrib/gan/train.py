"""Training of models: an operation for each network, hooks that run them in turn, and the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.core.source import at
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.library.contrib import slim_learning, training
from headrace.library.contrib.gan.model import CycleGANModel
from headrace.library.contrib.optimize import create_train_op
from headrace.library.scope import name_scope
from headrace.library.state.global_step import get_or_create_global_step
from headrace.library.state.initializers import Zeros
from headrace.library.state.variable_scope import get_variable
from headrace.library.train.replica.sync_replicas_optimizer import SyncReplicasOptimizer
from headrace.library.train.session.run_hook import SessionRunContext, SessionRunHook


class GANTrainOps(NamedTuple):
    """What trains the generator, what trains the discriminator, what counts steps, and the hooks these need."""

    generator_train_op: Any
    discriminator_train_op: Any
    global_step_inc_op: Any
    train_hooks: Any = ()


class GANTrainSteps(NamedTuple):
    """How often the generator and the discriminator are trained in each step."""

    generator_train_steps: int
    discriminator_train_steps: int


_ONCE = GANTrainSteps(1, 1)


def gan_train_ops(
    model: Any, loss: Any, generator_optimizer: Any, discriminator_optimizer: Any,
    check_for_unused_update_ops: bool = True, is_chief: bool = True, **kwargs: Any,
) -> GANTrainOps:  # fmt: skip
    """The operations that train a model: each optimizer lessens the loss of its network by the variables of that network.

    Args:
      model: The model; of a `CycleGANModel` both models are trained, and each operation is a pair.
      loss: Its `tf.contrib.gan.GANLoss`, or `CycleGANLoss`.
      generator_optimizer: The optimizer of the generator.
      discriminator_optimizer: The optimizer of the discriminator.
      check_for_unused_update_ops: Whether update operations outside both scopes are an error.
      is_chief: Whether this process is the chief, for a `tf.train.SyncReplicasOptimizer`.
      **kwargs: Further arguments of `tf.contrib.training.create_train_op`, such as `summarize_gradients`.

    Returns:
      A `tf.contrib.gan.GANTrainOps`.

    Example: ``tf.contrib.gan.gan_train_ops(model, loss, tf.train.AdamOptimizer(1e-4), tf.train.AdamOptimizer(1e-4))``
    """
    if isinstance(model, CycleGANModel):
        options = {"check_for_unused_update_ops": check_for_unused_update_ops, "is_chief": is_chief, **kwargs}
        return _both_ways(model, loss, (generator_optimizer, discriminator_optimizer), options)
    global_step = get_or_create_global_step()
    count = global_step.assign_add(1)
    updates = _update_ops(model, kwargs.pop("update_ops", None), check_for_unused_update_ops)
    hooks: list[Any] = []
    ops = []
    for name, optimizer, total, variables, mine in (
        ("generator", generator_optimizer, loss.generator_loss, model.generator_variables, updates[0]),
        ("discriminator", discriminator_optimizer, loss.discriminator_loss, model.discriminator_variables, updates[1]),
    ):
        own_step = None
        if isinstance(optimizer, SyncReplicasOptimizer):
            own_step = _step_beside(name, global_step)
            mine.append(own_step.assign(global_step).op)
            hooks.append(optimizer.make_session_run_hook(is_chief))
        with name_scope(f"{name}_train"):
            ops.append(
                create_train_op(
                    total, optimizer, global_step=own_step, update_ops=mine, variables_to_train=variables, **kwargs
                )
            )
    return GANTrainOps(ops[0], ops[1], count, hooks)


def _both_ways(model: CycleGANModel, loss: Any, optimizers: tuple[Any, Any], options: dict[str, Any]) -> GANTrainOps:
    """The operations of both models, as pairs."""
    with name_scope("cyclegan_x2y_train"):
        x2y = gan_train_ops(model.model_x2y, loss.loss_x2y, *optimizers, **options)
    with name_scope("cyclegan_y2x_train"):
        y2x = gan_train_ops(model.model_y2x, loss.loss_y2x, *optimizers, **options)
    return GANTrainOps(
        (x2y.generator_train_op, y2x.generator_train_op),
        (x2y.discriminator_train_op, y2x.discriminator_train_op),
        get_or_create_global_step().assign_add(1),
        [*x2y.train_hooks, *y2x.train_hooks],
    )


def _step_beside(name: str, global_step: Any) -> Any:
    """A step that a synchronous optimizer counts for itself: the graph's is counted once for both networks."""
    return get_variable(
        f"dummy_global_step_{name}", [], global_step.dtype.base_dtype, initializer=Zeros(), trainable=False,
        collections=[GraphKeys.GLOBAL_VARIABLES],
    )  # fmt: skip


def _update_ops(model: Any, given: Any, check_unused: bool) -> tuple[list[Any], list[Any]]:
    """The update operations of the generator's scope and of the discriminator's, so that none runs twice."""
    graph = context.get_default_graph()
    all_updates = graph.get_collection(GraphKeys.UPDATE_OPS) if given is None else list(given)
    scopes = (model.generator_scope.name, model.discriminator_scope.name)
    mine = [graph.get_collection(GraphKeys.UPDATE_OPS, scope) for scope in scopes]
    unused = [op for op in all_updates if not any(op in ops for ops in mine)]
    if unused and check_unused:
        raise ValueError(f"There are unused update ops: {unused}; they are in neither of the scopes {scopes} {at()}")
    generator, discriminator = ([op for op in ops if op in all_updates] for ops in mine)
    return generator, discriminator


class RunTrainOpsHook(SessionRunHook):
    """Runs training operations a number of times before each step.

    Args:
      train_ops: An operation or tensor, or a structure of them.
      train_steps: How often they run.

    >>> v = tf.Variable(0)
    >>> with tf.train.MonitoredSession(hooks=[tf.contrib.gan.RunTrainOpsHook(v.assign_add(1), 3)]) as sess:
    ...     print(sess.run(v))
    3
    """

    def __init__(self, train_ops: Any, train_steps: int) -> None:
        self._train_ops = list(train_ops) if isinstance(train_ops, tuple) else train_ops
        self._train_steps = train_steps

    def before_run(self, run_context: SessionRunContext) -> None:
        for _ in range(self._train_steps):
            run_context.session.run(self._train_ops)


def get_sequential_train_hooks(train_steps: GANTrainSteps = _ONCE) -> Callable[[GANTrainOps], list[Any]]:
    """Hooks that train the generator, then the discriminator.

    Args:
      train_steps: How often each is trained in a step.

    Returns:
      A function from `GANTrainOps` to a list of hooks.

    >>> make_hooks = tf.contrib.gan.get_sequential_train_hooks(tf.contrib.gan.GANTrainSteps(1, 5))
    >>> len(make_hooks(tf.contrib.gan.GANTrainOps(tf.no_op(), tf.no_op(), tf.no_op())))
    2
    """

    def get_hooks(train_ops: GANTrainOps) -> list[Any]:
        return [
            RunTrainOpsHook(train_ops.generator_train_op, train_steps.generator_train_steps),
            RunTrainOpsHook(train_ops.discriminator_train_op, train_steps.discriminator_train_steps),
            *train_ops.train_hooks,
        ]

    return get_hooks


def get_joint_train_hooks(train_steps: GANTrainSteps = _ONCE) -> Callable[[GANTrainOps], list[Any]]:
    """Hooks that train generator and discriminator together, and then one of them for the rest of its times.

    Args:
      train_steps: How often each is trained in a step.

    Returns:
      A function from `GANTrainOps` to a list of hooks.

    >>> make_hooks = tf.contrib.gan.get_joint_train_hooks()
    >>> len(make_hooks(tf.contrib.gan.GANTrainOps(tf.no_op(), tf.no_op(), tf.no_op())))
    3
    """
    g_steps, d_steps = train_steps.generator_train_steps, train_steps.discriminator_train_steps
    together = min(g_steps, d_steps)

    def get_hooks(train_ops: GANTrainOps) -> list[Any]:
        g_op, d_op = train_ops.generator_train_op, train_ops.discriminator_train_op
        return [
            RunTrainOpsHook([g_op, d_op], together),
            RunTrainOpsHook(g_op, g_steps - together),
            RunTrainOpsHook(d_op, d_steps - together),
            *train_ops.train_hooks,
        ]

    return get_hooks


_IN_TURN = get_sequential_train_hooks()


def gan_train(
    train_ops: GANTrainOps, logdir: Any, get_hooks_fn: Callable[[GANTrainOps], Any] = _IN_TURN,
    master: str = "", is_chief: bool = True, scaffold: Any = None, hooks: Any = None, chief_only_hooks: Any = None,
    save_checkpoint_secs: Any = 600, save_summaries_steps: Any = 100, config: Any = None,
) -> Any:  # fmt: skip
    """Trains a model in a `tf.train.MonitoredTrainingSession` until a hook or the input ends it.

    Args:
      train_ops: What `tf.contrib.gan.gan_train_ops` gave.
      logdir: The folder for checkpoints and summaries; None only if nothing is saved.
      get_hooks_fn: A function from `GANTrainOps` to hooks that train, such as `get_sequential_train_hooks()` gives.
      master: The target of the session; empty for a session of this process.
      is_chief: Whether this process makes and saves the variables.
      scaffold: A `tf.train.Scaffold` with what the session begins with; None for the default.
      hooks: A list of hooks of the session; None for none.
      chief_only_hooks: A list of hooks that only the chief has; None for none.
      save_checkpoint_secs: The seconds between two checkpoints; None for no checkpoints.
      save_summaries_steps: The steps between two summaries; None for no summaries.
      config: The `tf.ConfigProto` of the session; None for the default.

    Returns:
      The global step after the last step; None if there was no step.

    Example: ``tf.contrib.gan.gan_train(train_ops, "logs", hooks=[tf.train.StopAtStepHook(num_steps=1000)])``
    """
    return training.train(
        train_ops.global_step_inc_op, logdir, master=master, is_chief=is_chief, scaffold=scaffold,
        hooks=[*(hooks or ()), *get_hooks_fn(train_ops)], chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs, save_summaries_steps=save_summaries_steps, config=config,
    )  # fmt: skip


def get_sequential_train_steps(train_steps: GANTrainSteps = _ONCE) -> Callable[..., tuple[Any, Any]]:
    """A ``train_step_fn`` for `tf.contrib.slim.learning.train`: it trains the generator, then the discriminator.

    Args:
      train_steps: How often each is trained in a step.

    Returns:
      A function of a session, `GANTrainOps`, the global step and a dictionary that gives the loss and whether to stop.

    Example: ``slim.learning.train(train_ops, "logs", train_step_fn=tf.contrib.gan.get_sequential_train_steps())``
    """

    def step(sess: Any, train_ops: GANTrainOps, global_step: Any, train_step_kwargs: Any) -> tuple[Any, Any]:
        further = {key: value for key, value in train_step_kwargs.items() if key != "should_stop"}
        loss: Any = 0
        for op, times in zip(train_ops[:2], train_steps, strict=True):
            for _ in range(times):
                loss += slim_learning.train_step(sess, op, global_step, further)[0]
        sess.run(train_ops.global_step_inc_op)
        # Asked after the step is counted, so that training ends at the number of steps that was asked for.
        should_stop = train_step_kwargs.get("should_stop")
        return loss, False if should_stop is None else sess.run(should_stop)

    return step
