"""tf.data: datasets and iterators."""

from headrace.data import experimental as experimental
from headrace.library.data.dataset import Dataset as Dataset
from headrace.library.data.iterable import from_iterable as from_iterable
from headrace.library.data.iterator import Iterator as Iterator
from headrace.library.data.iterator import get_output_classes as get_output_classes
from headrace.library.data.iterator import get_output_shapes as get_output_shapes
from headrace.library.data.iterator import get_output_types as get_output_types
from headrace.library.data.iterator import make_initializable_iterator as make_initializable_iterator
from headrace.library.data.iterator import make_one_shot_iterator as make_one_shot_iterator
from headrace.library.data.iterator import report as report
from headrace.library.data.options import Options as Options
from headrace.library.data.pieces import Pieces as Pieces
from headrace.library.data.pieces import piece_ranges as piece_ranges
from headrace.library.data.pieces import pieces as pieces
from headrace.library.data.readers import FixedLengthRecordDataset as FixedLengthRecordDataset
from headrace.library.data.readers import TextLineDataset as TextLineDataset
from headrace.library.data.readers import TFRecordDataset as TFRecordDataset
from headrace.library.data.structure import DatasetSpec as DatasetSpec
