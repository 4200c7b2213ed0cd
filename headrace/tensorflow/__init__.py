"""Programs that say ``import tensorflow``, on Headrace, unedited.

    python -m headrace.tensorflow train.py --steps=100

or, in a program, before anything imports TensorFlow:

    import headrace.tensorflow
    headrace.tensorflow.install()
    import tensorflow as tf

With ``install(keras=True)``, or ``python -m headrace.tensorflow --keras train.py``, ``import keras`` means Headrace's tf.keras,
too: programs of standalone Keras 2 run, with its modules such as ``keras.layers.core`` and ``keras.utils.np_utils``.

``tensorflow``, ``tensorflow.compat.v1``, ``tensorflow.contrib...`` and the commonly imported ``tensorflow.python...`` modules
then mean Headrace's.  A name Headrace lacks raises AttributeError (a module, ModuleNotFoundError) under TensorFlow's name.
"""

from __future__ import annotations

import sys
from types import ModuleType

from headrace.tensorflow.finder import ROOT, Finder, KerasFinder, Module

__all__ = ["install", "installed", "uninstall"]

_finder = Finder()
_keras_finder = KerasFinder()
# TensorBoard looks for this module to decide whether to write files by itself or through TensorFlow.
_no_tensorflow = ModuleType("tensorboard.compat.notf")


def installed() -> bool:
    """Whether ``import tensorflow`` means Headrace."""
    return _finder in sys.meta_path


def install(keras: bool = False) -> None:
    """Makes ``import tensorflow`` mean Headrace from here on; ImportError if the real one is imported already.

    Args:
      keras: Whether ``import keras`` means Headrace's tf.keras too.
    """
    if keras:
        _install_keras()
    if installed():
        return
    there = sys.modules.get(ROOT)
    if there is not None and not isinstance(there, Module):
        raise ImportError(
            f"TensorFlow is already imported, from {getattr(there, '__file__', 'somewhere')}: call "
            "headrace.tensorflow.install() before anything imports it, or run the program with "
            "`python -m headrace.tensorflow program.py`"
        )
    sys.meta_path.insert(0, _finder)
    sys.modules.setdefault(_no_tensorflow.__name__, _no_tensorflow)


def _install_keras() -> None:
    if _keras_finder in sys.meta_path:
        return
    there = sys.modules.get(_keras_finder.root)
    if there is not None and not isinstance(there, Module):
        raise ImportError(
            f"Keras is already imported, from {getattr(there, '__file__', 'somewhere')}: call "
            "headrace.tensorflow.install(keras=True) before anything imports it"
        )
    sys.meta_path.insert(0, _keras_finder)


def uninstall() -> None:
    """Undoes `install`; modules that hold TensorFlow's names by now keep Headrace's."""
    if _keras_finder in sys.meta_path:
        sys.meta_path.remove(_keras_finder)
    if not installed():
        return
    sys.meta_path.remove(_finder)
    if sys.modules.get(_no_tensorflow.__name__) is _no_tensorflow:  # not somebody else's
        del sys.modules[_no_tensorflow.__name__]
    for name in [name for name, module in sys.modules.items() if isinstance(module, Module)]:
        del sys.modules[name]
