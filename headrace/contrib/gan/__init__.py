"""tf.contrib.gan: models, losses and training of generators and discriminators."""

from headrace.contrib.gan import eval as eval
from headrace.contrib.gan import features as features
from headrace.contrib.gan import losses as losses
from headrace.library.contrib.gan.model import (
    ACGANModel as ACGANModel, CycleGANModel as CycleGANModel, GANModel as GANModel, InfoGANModel as InfoGANModel,
    acgan_model as acgan_model, cyclegan_model as cyclegan_model, gan_model as gan_model,
    infogan_model as infogan_model,
)
from headrace.library.contrib.gan.model_loss import (
    CycleGANLoss as CycleGANLoss, GANLoss as GANLoss, cyclegan_loss as cyclegan_loss, gan_loss as gan_loss,
)
from headrace.library.contrib.gan.train import (
    GANTrainOps as GANTrainOps, GANTrainSteps as GANTrainSteps, RunTrainOpsHook as RunTrainOpsHook,
    gan_train as gan_train, gan_train_ops as gan_train_ops, get_joint_train_hooks as get_joint_train_hooks,
    get_sequential_train_hooks as get_sequential_train_hooks, get_sequential_train_steps as get_sequential_train_steps,
)
