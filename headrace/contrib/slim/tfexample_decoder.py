"""slim.tfexample_decoder: what makes items of tf.train.Example messages."""

from headrace.library.contrib.slim.item_handler import BackupHandler as BackupHandler
from headrace.library.contrib.slim.item_handler import BoundingBox as BoundingBox
from headrace.library.contrib.slim.item_handler import Image as Image
from headrace.library.contrib.slim.item_handler import ItemHandler as ItemHandler
from headrace.library.contrib.slim.item_handler import ItemHandlerCallback as ItemHandlerCallback
from headrace.library.contrib.slim.item_handler import LookupTensor as LookupTensor
from headrace.library.contrib.slim.item_handler import SparseTensorHandler as SparseTensor
from headrace.library.contrib.slim.data import TFExampleDecoder as TFExampleDecoder
from headrace.library.contrib.slim.item_handler import TensorHandler as Tensor
