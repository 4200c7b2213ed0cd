"""tf.random."""

from headrace.library.random import categorical as categorical
from headrace.library.random import get_seed as get_seed
from headrace.library.random import multinomial as multinomial
from headrace.library.random import random_gamma as gamma
from headrace.library.random import random_normal as normal
from headrace.library.random import random_poisson as poisson
from headrace.library.random import random_shuffle as shuffle
from headrace.library.random import random_uniform as uniform
from headrace.library.random import set_random_seed as set_random_seed
from headrace.library.random import stateless_categorical as stateless_categorical
from headrace.library.random import stateless_multinomial as stateless_multinomial
from headrace.library.random import stateless_random_normal as stateless_normal
from headrace.library.random import stateless_random_uniform as stateless_uniform
from headrace.library.random import stateless_truncated_normal as stateless_truncated_normal
from headrace.library.random import truncated_normal as truncated_normal
from headrace.library.candidate import all_candidate_sampler as all_candidate_sampler
from headrace.library.candidate import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from headrace.library.candidate import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from headrace.library.candidate import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from headrace.library.candidate import uniform_candidate_sampler as uniform_candidate_sampler

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
