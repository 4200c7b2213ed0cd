"""tf.keras.metrics: figures that are reported while a model is trained and evaluated."""

from headrace.library.keras.loss_function import (
    binary_crossentropy as binary_crossentropy, categorical_crossentropy as categorical_crossentropy,
    cosine_similarity as cosine, cosine_similarity as cosine_proximity, hinge as hinge,
    kullback_leibler_divergence as KLD, kullback_leibler_divergence as kld,
    kullback_leibler_divergence as kullback_leibler_divergence, logcosh as logcosh, mean_absolute_error as MAE,
    mean_absolute_error as mae, mean_absolute_percentage_error as MAPE, mean_absolute_percentage_error as mape,
    mean_absolute_error as mean_absolute_error, mean_absolute_percentage_error as mean_absolute_percentage_error,
    mean_squared_error as mean_squared_error, mean_squared_logarithmic_error as mean_squared_logarithmic_error,
    mean_squared_error as MSE, mean_squared_error as mse, mean_squared_logarithmic_error as MSLE,
    mean_squared_logarithmic_error as msle, poisson as poisson,
    sparse_categorical_crossentropy as sparse_categorical_crossentropy, squared_hinge as squared_hinge,
)
from headrace.library.keras.metrics.accuracy import (
    Accuracy as Accuracy, BinaryAccuracy as BinaryAccuracy, CategoricalAccuracy as CategoricalAccuracy,
    SparseCategoricalAccuracy as SparseCategoricalAccuracy,
    SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy,
    TopKCategoricalAccuracy as TopKCategoricalAccuracy, binary_accuracy as binary_accuracy,
    categorical_accuracy as categorical_accuracy, sparse_categorical_accuracy as sparse_categorical_accuracy,
    sparse_top_k_categorical_accuracy as sparse_top_k_categorical_accuracy,
    top_k_categorical_accuracy as top_k_categorical_accuracy,
)
from headrace.library.keras.metrics.counts import (
    FalseNegatives as FalseNegatives, FalsePositives as FalsePositives, Precision as Precision, Recall as Recall,
    TrueNegatives as TrueNegatives, TruePositives as TruePositives,
)
from headrace.library.keras.metrics.curves import (
    AUC as AUC, SensitivityAtSpecificity as SensitivityAtSpecificity,
    SpecificityAtSensitivity as SpecificityAtSensitivity,
)
from headrace.library.keras.metrics.metric import (
    Mean as Mean, MeanMetricWrapper as MeanMetricWrapper, MeanRelativeError as MeanRelativeError,
    MeanTensor as MeanTensor, Metric as Metric, Sum as Sum,
)
from headrace.library.keras.metrics.named import deserialize as deserialize, get as get, serialize as serialize
from headrace.library.keras.metrics.of_losses import (
    BinaryCrossentropy as BinaryCrossentropy, CategoricalCrossentropy as CategoricalCrossentropy,
    CategoricalHinge as CategoricalHinge, CosineSimilarity as CosineSimilarity, Hinge as Hinge,
    KLDivergence as KLDivergence, LogCoshError as LogCoshError, MeanAbsoluteError as MeanAbsoluteError,
    MeanAbsolutePercentageError as MeanAbsolutePercentageError, MeanIoU as MeanIoU,
    MeanSquaredError as MeanSquaredError, MeanSquaredLogarithmicError as MeanSquaredLogarithmicError,
    Poisson as Poisson, RootMeanSquaredError as RootMeanSquaredError,
    SparseCategoricalCrossentropy as SparseCategoricalCrossentropy, SquaredHinge as SquaredHinge,
)
