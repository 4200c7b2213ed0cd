"""tf.distributions: random variables with densities, moments, samples and divergences."""

from headrace.library.distribution.continuous import (
    Beta as Beta, Exponential as Exponential, Gamma as Gamma, Laplace as Laplace, Normal as Normal, Uniform as Uniform,
)
from headrace.library.distribution.discrete import Bernoulli as Bernoulli, Categorical as Categorical
from headrace.library.distribution.distribution import (
    FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED as NOT_REPARAMETERIZED,
    Distribution as Distribution, RegisterKL as RegisterKL, ReparameterizationType as ReparameterizationType,
    kl_divergence as kl_divergence,
)
from headrace.library.distribution.heavy_tail import StudentT as StudentT
from headrace.library.distribution.vector import (
    Dirichlet as Dirichlet, DirichletMultinomial as DirichletMultinomial, Multinomial as Multinomial,
)
