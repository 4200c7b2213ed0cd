"""tf.python_io: files of records."""

from headrace.library.text.record import TFRecordCompressionType as TFRecordCompressionType
from headrace.library.text.record import TFRecordOptions as TFRecordOptions
from headrace.library.text.record import TFRecordWriter as TFRecordWriter
from headrace.library.text.record import tf_record_iterator as tf_record_iterator
