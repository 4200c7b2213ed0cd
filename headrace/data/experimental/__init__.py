"""tf.data.experimental: what TensorFlow 1 had not settled."""

from headrace.library.data.dataset import AUTOTUNE as AUTOTUNE
from headrace.library.data.options import DistributeOptions as DistributeOptions
from headrace.library.data.options import MapVectorizationOptions as MapVectorizationOptions
from headrace.library.data.options import OptimizationOptions as OptimizationOptions
from headrace.library.data.options import StatsOptions as StatsOptions
from headrace.library.data.options import ThreadingOptions as ThreadingOptions
from headrace.library.data.structure import DatasetStructure as DatasetStructure
