"""tf.contrib.gan.losses: losses of models; those of tensors are in `wargs`."""

from headrace.contrib.gan.losses import wargs as wargs
from headrace.library.contrib.gan.model_loss import acgan_discriminator_loss as acgan_discriminator_loss
from headrace.library.contrib.gan.model_loss import acgan_generator_loss as acgan_generator_loss
from headrace.library.contrib.gan.model_loss import cycle_consistency_loss as cycle_consistency_loss
from headrace.library.contrib.gan.model_loss import least_squares_discriminator_loss as least_squares_discriminator_loss
from headrace.library.contrib.gan.model_loss import least_squares_generator_loss as least_squares_generator_loss
from headrace.library.contrib.gan.model_loss import minimax_discriminator_loss as minimax_discriminator_loss
from headrace.library.contrib.gan.model_loss import minimax_generator_loss as minimax_generator_loss
from headrace.library.contrib.gan.model_loss import modified_discriminator_loss as modified_discriminator_loss
from headrace.library.contrib.gan.model_loss import modified_generator_loss as modified_generator_loss
from headrace.library.contrib.gan.model_loss import mutual_information_penalty as mutual_information_penalty
from headrace.library.contrib.gan.model_loss import wasserstein_discriminator_loss as wasserstein_discriminator_loss
from headrace.library.contrib.gan.model_loss import wasserstein_generator_loss as wasserstein_generator_loss
from headrace.library.contrib.gan.model_loss import wasserstein_gradient_penalty as wasserstein_gradient_penalty
from headrace.library.contrib.gan.model_loss import wasserstein_hinge_discriminator_loss as wasserstein_hinge_discriminator_loss
from headrace.library.contrib.gan.model_loss import wasserstein_hinge_generator_loss as wasserstein_hinge_generator_loss
