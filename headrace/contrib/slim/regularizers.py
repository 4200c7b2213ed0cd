"""slim.regularizers."""

from headrace.library.state.regularizers import apply_regularization as apply_regularization
from headrace.library.state.regularizers import l1_l2_regularizer as l1_l2_regularizer
from headrace.library.state.regularizers import l1_regularizer as l1_regularizer
from headrace.library.state.regularizers import l2_regularizer as l2_regularizer
from headrace.library.state.regularizers import sum_regularizer as sum_regularizer
