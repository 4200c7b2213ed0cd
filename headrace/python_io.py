"""tf.python_io: files of records."""

from headrace.library.record import TFRecordCompressionType as TFRecordCompressionType
from headrace.library.record import TFRecordOptions as TFRecordOptions
from headrace.library.record import TFRecordWriter as TFRecordWriter
from headrace.library.record import tf_record_iterator as tf_record_iterator
