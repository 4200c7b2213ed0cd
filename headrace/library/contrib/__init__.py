"""The part of TF1's contrib that programs use: layers, argument scopes, slim, hyperparameters, further optimizers."""
