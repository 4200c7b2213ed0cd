"""Training by several replicas of a model: where its variables go, and how its gradients are put together."""
