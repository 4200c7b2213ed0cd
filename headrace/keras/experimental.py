"""tf.keras.experimental: learning rates along cosines."""

from headrace.library.keras.optimizers.schedules import (
    CosineDecay as CosineDecay, CosineDecayRestarts as CosineDecayRestarts, LinearCosineDecay as LinearCosineDecay,
    NoisyLinearCosineDecay as NoisyLinearCosineDecay,
)
