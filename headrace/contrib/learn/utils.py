"""tf.contrib.learn.utils: what requests to an exported model look like."""

from types import SimpleNamespace as _SimpleNamespace

from headrace.library.contrib.learn.serving_input import InputFnOps as InputFnOps
from headrace.library.contrib.learn.serving_input import (
    build_default_serving_input_fn as build_default_serving_input_fn,
)
from headrace.library.contrib.learn.serving_input import (
    build_parsing_serving_input_fn as build_parsing_serving_input_fn,
)

input_fn_utils = _SimpleNamespace(
    InputFnOps=InputFnOps, build_default_serving_input_fn=build_default_serving_input_fn,
    build_parsing_serving_input_fn=build_parsing_serving_input_fn,
)  # fmt: skip
