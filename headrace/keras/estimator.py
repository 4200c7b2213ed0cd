"""tf.keras.estimator: Keras models as estimators."""

from headrace.library.keras.estimator import model_to_estimator as model_to_estimator
