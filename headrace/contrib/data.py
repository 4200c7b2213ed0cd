"""tf.contrib.data: transformations of datasets, which later were tf.data.experimental's."""

from headrace.library.data.checkpoint import CheckpointInputPipelineHook as CheckpointInputPipelineHook
from headrace.library.data.checkpoint import make_saveable_from_iterator as make_saveable_from_iterator
from headrace.library.data.grouping import Reducer as Reducer
from headrace.library.data.grouping import bucket_by_sequence_length as bucket_by_sequence_length
from headrace.library.data.grouping import dense_to_sparse_batch as dense_to_sparse_batch
from headrace.library.data.grouping import group_by_reducer as group_by_reducer
from headrace.library.data.grouping import parse_example_dataset as parse_example_dataset
from headrace.library.data.grouping import rejection_resample as rejection_resample
from headrace.library.data.tables import CsvDataset as CsvDataset
from headrace.library.data.tables import make_batched_features_dataset as make_batched_features_dataset
from headrace.library.data.tables import make_csv_dataset as make_csv_dataset
from headrace.library.data.transform import Counter as Counter
from headrace.library.data.transform import RandomDataset as RandomDataset
from headrace.library.data.transform import choose_from_datasets as choose_from_datasets
from headrace.library.data.transform import enumerate_dataset as enumerate_dataset
from headrace.library.data.transform import get_single_element as get_single_element
from headrace.library.data.transform import group_by_window as group_by_window
from headrace.library.data.transform import ignore_errors as ignore_errors
from headrace.library.data.transform import map_and_batch as map_and_batch
from headrace.library.data.transform import parallel_interleave as parallel_interleave
from headrace.library.data.transform import sample_from_datasets as sample_from_datasets
from headrace.library.data.transform import scan as scan
from headrace.library.data.transform import shuffle_and_repeat as shuffle_and_repeat
from headrace.library.data.transform import unbatch as unbatch
from headrace.library.data.transform import unique as unique
