"""tf.random."""

from headrace.library.numeric.random import categorical as categorical
from headrace.library.numeric.random import get_seed as get_seed
from headrace.library.numeric.random import multinomial as multinomial
from headrace.library.numeric.random import random_gamma as gamma
from headrace.library.numeric.random import random_normal as normal
from headrace.library.numeric.random import random_poisson as poisson
from headrace.library.numeric.random import random_shuffle as shuffle
from headrace.library.numeric.random import random_uniform as uniform
from headrace.library.numeric.random import set_random_seed as set_random_seed
from headrace.library.numeric.random import stateless_categorical as stateless_categorical
from headrace.library.numeric.random import stateless_multinomial as stateless_multinomial
from headrace.library.numeric.random import stateless_random_normal as stateless_normal
from headrace.library.numeric.random import stateless_random_uniform as stateless_uniform
from headrace.library.numeric.random import stateless_truncated_normal as stateless_truncated_normal
from headrace.library.numeric.random import truncated_normal as truncated_normal
from headrace.library.network.candidate import all_candidate_sampler as all_candidate_sampler
from headrace.library.network.candidate import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from headrace.library.network.candidate import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from headrace.library.network.candidate import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from headrace.library.network.candidate import uniform_candidate_sampler as uniform_candidate_sampler

__all__ = [
    "all_candidate_sampler",
    "categorical",
    "fixed_unigram_candidate_sampler",
    "gamma",
    "get_seed",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "multinomial",
    "normal",
    "poisson",
    "set_random_seed",
    "shuffle",
    "stateless_categorical",
    "stateless_multinomial",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
    "uniform_candidate_sampler",
]
