"""tf.data.experimental: what TensorFlow 1 had not settled."""

from headrace.library.data.checkpoint import make_saveable_from_iterator as make_saveable_from_iterator
from headrace.library.data.dataset import AUTOTUNE as AUTOTUNE
from headrace.library.data.options import DistributeOptions as DistributeOptions
from headrace.library.data.options import MapVectorizationOptions as MapVectorizationOptions
from headrace.library.data.options import OptimizationOptions as OptimizationOptions
from headrace.library.data.options import StatsOptions as StatsOptions
from headrace.library.data.options import ThreadingOptions as ThreadingOptions
from headrace.library.data.structure import DatasetStructure as DatasetStructure
from headrace.library.data.transform import Counter as Counter
from headrace.library.data.transform import RandomDataset as RandomDataset
from headrace.library.data.transform import choose_from_datasets as choose_from_datasets
from headrace.library.data.transform import enumerate_dataset as enumerate_dataset
from headrace.library.data.transform import get_single_element as get_single_element
from headrace.library.data.transform import group_by_window as group_by_window
from headrace.library.data.transform import ignore_errors as ignore_errors
from headrace.library.data.transform import map_and_batch as map_and_batch
from headrace.library.data.transform import map_and_batch_with_legacy_function as map_and_batch_with_legacy_function
from headrace.library.data.transform import parallel_interleave as parallel_interleave
from headrace.library.data.transform import sample_from_datasets as sample_from_datasets
from headrace.library.data.transform import scan as scan
from headrace.library.data.transform import shuffle_and_repeat as shuffle_and_repeat
from headrace.library.data.transform import take_while as take_while
from headrace.library.data.transform import unbatch as unbatch
from headrace.library.data.transform import unique as unique
