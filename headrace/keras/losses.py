"""tf.keras.losses: what training minimises."""

from headrace.library.keras.loss_function import (
    binary_crossentropy as binary_crossentropy, categorical_crossentropy as categorical_crossentropy,
    categorical_hinge as categorical_hinge, cosine_similarity as cosine, cosine_similarity as cosine_proximity,
    cosine_similarity as cosine_similarity, hinge as hinge, kullback_leibler_divergence as KLD,
    kullback_leibler_divergence as kld, kullback_leibler_divergence as kullback_leibler_divergence,
    logcosh as logcosh, mean_absolute_error as MAE, mean_absolute_error as mae,
    mean_absolute_percentage_error as MAPE, mean_absolute_percentage_error as mape,
    mean_absolute_error as mean_absolute_error, mean_absolute_percentage_error as mean_absolute_percentage_error,
    mean_squared_error as mean_squared_error, mean_squared_logarithmic_error as mean_squared_logarithmic_error,
    mean_squared_error as MSE, mean_squared_error as mse, mean_squared_logarithmic_error as MSLE,
    mean_squared_logarithmic_error as msle, poisson as poisson,
    sparse_categorical_crossentropy as sparse_categorical_crossentropy, squared_hinge as squared_hinge,
)
from headrace.library.keras.losses import (
    BinaryCrossentropy as BinaryCrossentropy, CategoricalCrossentropy as CategoricalCrossentropy,
    CategoricalHinge as CategoricalHinge, CosineSimilarity as CosineSimilarity, Hinge as Hinge, Huber as Huber,
    KLDivergence as KLDivergence, LogCosh as LogCosh, Loss as Loss, MeanAbsoluteError as MeanAbsoluteError,
    MeanAbsolutePercentageError as MeanAbsolutePercentageError, MeanSquaredError as MeanSquaredError,
    MeanSquaredLogarithmicError as MeanSquaredLogarithmicError, Poisson as Poisson,
    SparseCategoricalCrossentropy as SparseCategoricalCrossentropy, SquaredHinge as SquaredHinge,
    deserialize as deserialize, get as get, serialize as serialize,
)
from headrace.library.keras.weighting import Reduction as Reduction
