"""tf.contrib.losses: losses with predictions before labels."""

from headrace.contrib.losses import metric_learning as metric_learning
from headrace.library.contrib.losses import absolute_difference as absolute_difference
from headrace.library.contrib.losses import add_loss as add_loss
from headrace.library.contrib.losses import compute_weighted_loss as compute_weighted_loss
from headrace.library.contrib.losses import cosine_distance as cosine_distance
from headrace.library.contrib.losses import get_losses as get_losses
from headrace.library.contrib.losses import get_regularization_losses as get_regularization_losses
from headrace.library.contrib.losses import get_total_loss as get_total_loss
from headrace.library.contrib.losses import hinge_loss as hinge_loss
from headrace.library.contrib.losses import log_loss as log_loss
from headrace.library.contrib.losses import mean_pairwise_squared_error as mean_pairwise_squared_error
from headrace.library.contrib.losses import mean_squared_error as mean_squared_error
from headrace.library.contrib.losses import sigmoid_cross_entropy as sigmoid_cross_entropy
from headrace.library.contrib.losses import softmax_cross_entropy as softmax_cross_entropy
from headrace.library.contrib.losses import sparse_softmax_cross_entropy as sparse_softmax_cross_entropy
