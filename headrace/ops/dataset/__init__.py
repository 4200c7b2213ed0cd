"""Datasets: nodes that describe a chain of stages (resources/data), and the iterators that steps take elements from."""

from headrace.ops.dataset import chain as chain
from headrace.ops.dataset import choose as choose
from headrace.ops.dataset import device as device
from headrace.ops.dataset import element as element
from headrace.ops.dataset import files as files
from headrace.ops.dataset import function as function
from headrace.ops.dataset import iterator as iterator
from headrace.ops.dataset import optional as optional
from headrace.ops.dataset import pieces as pieces
from headrace.ops.dataset import source as source
from headrace.ops.dataset import stats as stats
