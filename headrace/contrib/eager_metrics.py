"""tf.contrib.eager.metrics: metrics that keep their own variables."""

from headrace.library.metrics.eager_metric import Accuracy as Accuracy
from headrace.library.metrics.eager_metric import BinaryAccuracy as BinaryAccuracy
from headrace.library.metrics.eager_metric import CategoricalAccuracy as CategoricalAccuracy
from headrace.library.metrics.eager_metric import Mean as Mean
from headrace.library.metrics.eager_metric import Metric as Metric
from headrace.library.metrics.eager_metric import SparseAccuracy as SparseAccuracy
