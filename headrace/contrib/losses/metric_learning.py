"""tf.contrib.losses.metric_learning: losses of embeddings."""

from headrace.library.contrib.metric_learning import contrastive_loss as contrastive_loss
from headrace.library.contrib.metric_learning import lifted_struct_loss as lifted_struct_loss
from headrace.library.contrib.metric_learning import npairs_loss as npairs_loss
from headrace.library.contrib.metric_learning import npairs_loss_multilabel as npairs_loss_multilabel
from headrace.library.contrib.metric_learning import triplet_semihard_loss as triplet_semihard_loss
