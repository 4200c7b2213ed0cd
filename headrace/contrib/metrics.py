"""tf.contrib.metrics: streaming metrics with predictions before labels."""

from headrace.library.contrib.metrics import accuracy as accuracy
from headrace.library.contrib.metrics import aggregate_metric_map as aggregate_metric_map
from headrace.library.contrib.metrics import aggregate_metrics as aggregate_metrics
from headrace.library.contrib.metrics import streaming_accuracy as streaming_accuracy
from headrace.library.contrib.metrics import streaming_auc as streaming_auc
from headrace.library.contrib.metrics import streaming_false_negatives as streaming_false_negatives
from headrace.library.contrib.metrics import streaming_false_positives as streaming_false_positives
from headrace.library.contrib.metrics import streaming_mean as streaming_mean
from headrace.library.contrib.metrics import streaming_mean_absolute_error as streaming_mean_absolute_error
from headrace.library.contrib.metrics import streaming_mean_cosine_distance as streaming_mean_cosine_distance
from headrace.library.contrib.metrics import streaming_mean_iou as streaming_mean_iou
from headrace.library.contrib.metrics import streaming_mean_relative_error as streaming_mean_relative_error
from headrace.library.contrib.metrics import streaming_mean_squared_error as streaming_mean_squared_error
from headrace.library.contrib.metrics import streaming_mean_tensor as streaming_mean_tensor
from headrace.library.contrib.metrics import streaming_percentage_less as streaming_percentage_less
from headrace.library.contrib.metrics import streaming_precision as streaming_precision
from headrace.library.contrib.metrics import streaming_precision_at_thresholds as streaming_precision_at_thresholds
from headrace.library.contrib.metrics import streaming_recall as streaming_recall
from headrace.library.contrib.metrics import streaming_recall_at_thresholds as streaming_recall_at_thresholds
from headrace.library.contrib.metrics import streaming_root_mean_squared_error as streaming_root_mean_squared_error
from headrace.library.contrib.metrics import (
    streaming_sensitivity_at_specificity as streaming_sensitivity_at_specificity,
)
from headrace.library.contrib.metrics import (
    streaming_sparse_average_precision_at_k as streaming_sparse_average_precision_at_k,
)
from headrace.library.contrib.metrics import streaming_sparse_precision_at_k as streaming_sparse_precision_at_k
from headrace.library.contrib.metrics import streaming_sparse_recall_at_k as streaming_sparse_recall_at_k
from headrace.library.contrib.metrics import (
    streaming_specificity_at_sensitivity as streaming_specificity_at_sensitivity,
)
from headrace.library.contrib.metrics import streaming_true_negatives as streaming_true_negatives
from headrace.library.contrib.metrics import streaming_true_positives as streaming_true_positives
from headrace.library.numeric.reduction import confusion_matrix as confusion_matrix
