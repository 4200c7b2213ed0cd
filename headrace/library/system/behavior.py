"""TF1's switches between its own behaviour and TensorFlow 2's: Headrace's is TF1's, so turning TF2's off does nothing."""

from __future__ import annotations


def disable_v2_behavior() -> None:
    """Nothing to do: TF1's behaviour is the only one.

    >>> tf.disable_v2_behavior()
    """


def disable_v2_tensorshape() -> None:
    """Nothing to do: a shape's elements are `Dimension`s.

    >>> tf.disable_v2_tensorshape()
    """


def disable_control_flow_v2() -> None:
    """Nothing to do: TF1's control flow is the only one a program sees.

    >>> tf.disable_control_flow_v2()
    """


def control_flow_v2_enabled() -> bool:
    """Whether TensorFlow 2's control flow is on: never, since TF1's is the only one a program sees.

    Returns:
      False.

    >>> tf.control_flow_v2_enabled()
    False
    """
    return False
