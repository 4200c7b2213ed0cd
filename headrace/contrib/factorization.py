"""tf.contrib.factorization: clusters of points."""

from headrace.library.estimator.k_means import KMeansClustering as KMeansClustering
