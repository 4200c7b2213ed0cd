"""tf.losses: weighted losses, collected."""

from headrace.library.losses.loss import Reduction as Reduction
from headrace.library.losses.loss import absolute_difference as absolute_difference
from headrace.library.losses.loss import add_loss as add_loss
from headrace.library.losses.loss import compute_weighted_loss as compute_weighted_loss
from headrace.library.losses.loss import cosine_distance as cosine_distance
from headrace.library.losses.loss import get_losses as get_losses
from headrace.library.losses.loss import get_regularization_loss as get_regularization_loss
from headrace.library.losses.loss import get_regularization_losses as get_regularization_losses
from headrace.library.losses.loss import get_total_loss as get_total_loss
from headrace.library.losses.loss import hinge_loss as hinge_loss
from headrace.library.losses.loss import huber_loss as huber_loss
from headrace.library.losses.loss import log_loss as log_loss
from headrace.library.losses.loss import mean_pairwise_squared_error as mean_pairwise_squared_error
from headrace.library.losses.loss import mean_squared_error as mean_squared_error
from headrace.library.losses.loss import sigmoid_cross_entropy as sigmoid_cross_entropy
from headrace.library.losses.loss import softmax_cross_entropy as softmax_cross_entropy
from headrace.library.losses.loss import sparse_softmax_cross_entropy as sparse_softmax_cross_entropy
