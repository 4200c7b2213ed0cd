"""tf.contrib.distributions: random variables with densities, moments, samples and divergences."""

from headrace.library.distribution.continuous import Beta as Beta
from headrace.library.distribution.continuous import Exponential as Exponential
from headrace.library.distribution.continuous import Gamma as Gamma
from headrace.library.distribution.continuous import Laplace as Laplace
from headrace.library.distribution.continuous import Normal as Normal
from headrace.library.distribution.continuous import Uniform as Uniform
from headrace.library.distribution.discrete import Bernoulli as Bernoulli
from headrace.library.distribution.discrete import Categorical as Categorical
from headrace.library.distribution.distribution import FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED
from headrace.library.distribution.distribution import NOT_REPARAMETERIZED as NOT_REPARAMETERIZED
from headrace.library.distribution.distribution import Distribution as Distribution
from headrace.library.distribution.distribution import RegisterKL as RegisterKL
from headrace.library.distribution.distribution import ReparameterizationType as ReparameterizationType
from headrace.library.distribution.distribution import kl_divergence as kl_divergence
from headrace.library.distribution.heavy_tail import Cauchy as Cauchy
from headrace.library.distribution.heavy_tail import StudentT as StudentT
from headrace.library.distribution.mixture import Mixture as Mixture
from headrace.library.distribution.vector import Dirichlet as Dirichlet
from headrace.library.distribution.vector import DirichletMultinomial as DirichletMultinomial
from headrace.library.distribution.vector import Multinomial as Multinomial
from headrace.library.distribution.vector import MultivariateNormalFullCovariance as MultivariateNormalFullCovariance
from headrace.library.distribution.vector import RelaxedOneHotCategorical as RelaxedOneHotCategorical
