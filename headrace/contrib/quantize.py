"""tf.contrib.quantize: graphs rewritten to compute with few bits."""

from headrace.library.contrib.quantize import create_eval_graph as create_eval_graph
from headrace.library.contrib.quantize import create_training_graph as create_training_graph
from headrace.library.contrib.quantize import experimental_create_eval_graph as experimental_create_eval_graph
from headrace.library.contrib.quantize import experimental_create_training_graph as experimental_create_training_graph
