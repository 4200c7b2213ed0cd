"""The examples in docstrings run and print what they say.

Each sees ``tf`` and ``np`` and starts with an empty default graph; sessions it leaves open are closed for it.
"""

import doctest
import importlib
import warnings
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from headrace.runtime.host import defaults

ROOT = Path(tf.__file__).parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
MODULES = sorted(
    ".".join(("headrace", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if ">>> " in path.read_text()
)
USED_MOST = """
    Session Variable argmax assign_add cast clip_by_norm concat cond constant control_dependencies convert_to_tensor device
    expand_dims fill gather get_variable global_variables_initializer gradients group identity linspace matmul name_scope
    one_hot ones pad placeholder placeholder_with_default py_func random_uniform range reduce_max reduce_mean reduce_sum reshape
    shape split square squeeze stack stop_gradient tile transpose trainable_variables unstack variable_scope where while_loop
    zeros nn.bias_add nn.conv2d nn.dropout nn.embedding_lookup nn.max_pool nn.relu nn.sigmoid_cross_entropy_with_logits nn.softmax
    nn.softmax_cross_entropy_with_logits_v2 nn.sparse_softmax_cross_entropy_with_logits train.AdamOptimizer
    train.GradientDescentOptimizer train.MomentumOptimizer train.exponential_decay
""".split()


def examples(name: str) -> list[doctest.DocTest]:
    module = importlib.import_module(name)
    names = {"tf": tf, "np": np}
    return [t for t in doctest.DocTestFinder().find(module, name, extraglobs=names) if t.examples]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for example in examples(name):
        tf.reset_default_graph()
        defaults.reset()
        kept = example.globs
        with tf.device("/cpu:0"), warnings.catch_warnings():
            runner.run(example, clear_globs=False)
        for value in kept.values():
            if isinstance(value, (tf.Session, tf.InteractiveSession)):
                value.close()
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("name", USED_MOST)
def test_the_functions_used_most_have_examples(name: str) -> None:
    thing = tf
    for part in name.split("."):
        thing = getattr(thing, part)
    assert ">>> " in (thing.__doc__ or ""), f"tf.{name} has no example"
