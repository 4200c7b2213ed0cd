"""tf.initializers."""

from headrace.library.state.initializers import Constant as constant
from headrace.library.state.initializers import GlorotNormal as glorot_normal
from headrace.library.state.initializers import GlorotUniform as glorot_uniform
from headrace.library.state.initializers import Identity as identity
from headrace.library.state.initializers import Ones as ones
from headrace.library.state.initializers import Orthogonal as orthogonal
from headrace.library.state.initializers import RandomNormal as random_normal
from headrace.library.state.initializers import RandomUniform as random_uniform
from headrace.library.state.initializers import TruncatedNormal as truncated_normal
from headrace.library.state.initializers import UniformUnitScaling as uniform_unit_scaling
from headrace.library.state.initializers import VarianceScaling as variance_scaling
from headrace.library.state.initializers import Zeros as zeros
from headrace.library.state.initializers import he_normal as he_normal
from headrace.library.state.initializers import he_uniform as he_uniform
from headrace.library.state.initializers import lecun_normal as lecun_normal
from headrace.library.state.initializers import lecun_uniform as lecun_uniform
from headrace.library.state.variables import global_variables_initializer as global_variables
from headrace.library.state.variables import local_variables_initializer as local_variables
from headrace.library.state.variables import variables_initializer as variables

__all__ = [
    "constant", "global_variables", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "identity",
    "lecun_normal", "lecun_uniform", "local_variables", "ones", "orthogonal", "random_normal", "random_uniform",
    "truncated_normal", "uniform_unit_scaling", "variables", "variance_scaling", "zeros",
]  # fmt: skip
from headrace.library.text.lookup import tables_initializer as tables_initializer
