"""Kernels on numpy arrays, by family: for values on the CPU so small that calling torch costs more than the work.

The planner chooses them (passes/arrays.py).  Each gives what the op's kernel on tensors gives, for the dtypes numpy computes
with; opcheck compares the two on every sample.  The rest of each op is declared with its family, one folder up.
"""

from headrace.ops.arrays import _memory as _memory
from headrace.ops.arrays import complex as complex
from headrace.ops.arrays import convolution as convolution
from headrace.ops.arrays import creation as creation
from headrace.ops.arrays import elementwise as elementwise
from headrace.ops.arrays import indexing as indexing
from headrace.ops.arrays import joining as joining
from headrace.ops.arrays import linalg as linalg
from headrace.ops.arrays import matmul as matmul
from headrace.ops.arrays import network as network
from headrace.ops.arrays import normalization as normalization
from headrace.ops.arrays import padding as padding
from headrace.ops.arrays import pooling as pooling
from headrace.ops.arrays import ranking as ranking
from headrace.ops.arrays import reduction as reduction
from headrace.ops.arrays import scatter as scatter
from headrace.ops.arrays import segment as segment
from headrace.ops.arrays import shaping as shaping
from headrace.ops.arrays import slicing as slicing
from headrace.ops.arrays import sparse as sparse
from headrace.ops.arrays import state as state
from headrace.ops.arrays import training as training
