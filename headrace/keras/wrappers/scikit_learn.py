"""tf.keras.wrappers.scikit_learn: Keras models as estimators of scikit-learn."""

from headrace.library.keras.wrappers.scikit_learn import (
    KerasClassifier as KerasClassifier, KerasRegressor as KerasRegressor,
)
