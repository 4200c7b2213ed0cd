"""tf.contrib.gan.features: what models are improved with."""

from headrace.library.contrib.gan.features import (
    clip_discriminator_weights as clip_discriminator_weights, clip_variables as clip_variables,
    condition_tensor as condition_tensor, condition_tensor_from_onehot as condition_tensor_from_onehot,
    tensor_pool as tensor_pool,
)
from headrace.library.contrib.gan.spectral import (
    compute_spectral_norm as compute_spectral_norm, spectral_norm_regularizer as spectral_norm_regularizer,
    spectral_normalize as spectral_normalize,
)
