"""tf.contrib.nccl."""

from headrace.library.contrib.nccl import all_max as all_max
from headrace.library.contrib.nccl import all_min as all_min
from headrace.library.contrib.nccl import all_prod as all_prod
from headrace.library.contrib.nccl import all_sum as all_sum
from headrace.library.contrib.nccl import broadcast as broadcast
from headrace.library.contrib.nccl import reduce_sum as reduce_sum
