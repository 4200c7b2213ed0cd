"""tf.io: files, records, and what is in them."""

from headrace.library.host import decode_base64 as decode_base64
from headrace.library.host import encode_base64 as encode_base64
from headrace.library.parsing import FixedLenFeature as FixedLenFeature
from headrace.library.parsing import FixedLenSequenceFeature as FixedLenSequenceFeature
from headrace.library.parsing import SparseFeature as SparseFeature
from headrace.library.parsing import VarLenFeature as VarLenFeature
from headrace.library.parsing import parse_example as parse_example
from headrace.library.parsing import parse_single_example as parse_single_example
from headrace.library.parsing import parse_single_sequence_example as parse_single_sequence_example
from headrace.library.record import TFRecordCompressionType as TFRecordCompressionType
from headrace.library.record import TFRecordOptions as TFRecordOptions
from headrace.library.record import TFRecordWriter as TFRecordWriter
from headrace.library.record import tf_record_iterator as tf_record_iterator
from headrace.library.string import decode_compressed as decode_compressed
from headrace.library.string import decode_csv as decode_csv
from headrace.library.string import decode_raw as decode_raw
from headrace.library.string import matching_files as matching_files
from headrace.library.string import read_file as read_file
from headrace.library.string import write_file as write_file
