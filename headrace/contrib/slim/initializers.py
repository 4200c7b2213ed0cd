"""slim.initializers."""

from headrace.library.state.initializers import contrib_variance_scaling_initializer as variance_scaling_initializer
from headrace.library.state.initializers import xavier_initializer as xavier_initializer
from headrace.library.state.initializers import xavier_initializer as xavier_initializer_conv2d
