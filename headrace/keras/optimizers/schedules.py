"""tf.keras.optimizers.schedules: learning rates that depend on the step."""

from headrace.library.keras.optimizers.schedules import (
    ExponentialDecay as ExponentialDecay, InverseTimeDecay as InverseTimeDecay,
    LearningRateSchedule as LearningRateSchedule, PiecewiseConstantDecay as PiecewiseConstantDecay,
    PolynomialDecay as PolynomialDecay, deserialize as deserialize, serialize as serialize,
)
