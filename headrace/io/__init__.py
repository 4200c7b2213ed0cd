"""tf.io: files, records, and what is in them."""

from headrace.io import gfile as gfile
from headrace.library.control.host import decode_base64 as decode_base64, encode_base64 as encode_base64
from headrace.library.image.file import (
    decode_and_crop_jpeg as decode_and_crop_jpeg, decode_bmp as decode_bmp, decode_gif as decode_gif,
    decode_image as decode_image, decode_jpeg as decode_jpeg, decode_png as decode_png, encode_jpeg as encode_jpeg,
    encode_png as encode_png, extract_jpeg_shape as extract_jpeg_shape, is_jpeg as is_jpeg,
)
from headrace.library.input.producer import match_filenames_once as match_filenames_once
from headrace.library.queue.base import QueueBase as QueueBase
from headrace.library.queue.kinds import (
    PaddingFIFOQueue as PaddingFIFOQueue, PriorityQueue as PriorityQueue, RandomShuffleQueue as RandomShuffleQueue,
)
from headrace.library.text.parsing import (
    FixedLenFeature as FixedLenFeature, FixedLenSequenceFeature as FixedLenSequenceFeature,
    SparseFeature as SparseFeature, VarLenFeature as VarLenFeature, parse_example as parse_example,
    parse_single_example as parse_single_example, parse_single_sequence_example as parse_single_sequence_example,
    decode_json_example as decode_json_example, parse_sequence_example as parse_sequence_example,
)
from headrace.library.text.record import (
    TFRecordCompressionType as TFRecordCompressionType, TFRecordOptions as TFRecordOptions,
    TFRecordWriter as TFRecordWriter, tf_record_iterator as tf_record_iterator,
)
from headrace.library.text.serialize import (
    deserialize_many_sparse as deserialize_many_sparse, parse_tensor as parse_tensor,
    serialize_many_sparse as serialize_many_sparse, serialize_sparse as serialize_sparse,
    serialize_tensor as serialize_tensor,
)
from headrace.library.text.string import (
    decode_compressed as decode_compressed, decode_csv as decode_csv, decode_raw as decode_raw,
    matching_files as matching_files, read_file as read_file, write_file as write_file,
)
from headrace.library.system.graph_util import write_graph as write_graph
from headrace.library.train.saver.exchange import (
    checkpoint_to_safetensors as checkpoint_to_safetensors, load_safetensors as load_safetensors,
    restore_safetensors as restore_safetensors, safetensors_metadata as safetensors_metadata,
    safetensors_to_checkpoint as safetensors_to_checkpoint, save_safetensors as save_safetensors,
)
