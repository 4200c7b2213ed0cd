"""tf.keras.constraints: functions that an optimizer applies to a weight after each update."""

from headrace.library.layers.constraints import (
    Constraint as Constraint, MaxNorm as MaxNorm, MaxNorm as max_norm, MinMaxNorm as MinMaxNorm,
    MinMaxNorm as min_max_norm, NonNeg as NonNeg, NonNeg as non_neg, RadialConstraint as RadialConstraint,
    RadialConstraint as radial_constraint, UnitNorm as UnitNorm, UnitNorm as unit_norm, deserialize as deserialize,
    get as get, serialize as serialize,
)
