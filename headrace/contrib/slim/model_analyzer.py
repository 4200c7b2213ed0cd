"""slim.model_analyzer: the sizes of variables and outputs."""

from headrace.library.contrib.model_analyzer import analyze_ops as analyze_ops
from headrace.library.contrib.model_analyzer import analyze_vars as analyze_vars
from headrace.library.contrib.model_analyzer import tensor_description as tensor_description
