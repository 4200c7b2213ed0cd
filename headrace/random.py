"""tf.random."""

from headrace.library.numeric.random import (
    categorical as categorical, get_seed as get_seed, multinomial as multinomial, random_gamma as gamma,
    random_normal as normal, random_poisson as poisson, random_shuffle as shuffle, random_uniform as uniform,
    set_random_seed as set_random_seed, stateless_categorical as stateless_categorical,
    stateless_multinomial as stateless_multinomial, stateless_random_normal as stateless_normal,
    stateless_random_uniform as stateless_uniform, stateless_truncated_normal as stateless_truncated_normal,
    truncated_normal as truncated_normal,
)
from headrace.library.network.candidate import (
    all_candidate_sampler as all_candidate_sampler, fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler as learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler as log_uniform_candidate_sampler,
    uniform_candidate_sampler as uniform_candidate_sampler,
)

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
