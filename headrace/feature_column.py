"""tf.feature_column: columns of features, and the layers made of them."""

from headrace.library.feature_column.categorical import (
    categorical_column_with_hash_bucket as categorical_column_with_hash_bucket,
    categorical_column_with_identity as categorical_column_with_identity,
    categorical_column_with_vocabulary_file as categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list as categorical_column_with_vocabulary_list,
)
from headrace.library.feature_column.crossed import (
    crossed_column as crossed_column, indicator_column as indicator_column,
    weighted_categorical_column as weighted_categorical_column,
)
from headrace.library.feature_column.embedding import (
    embedding_column as embedding_column, shared_embedding_columns as shared_embedding_columns,
)
from headrace.library.feature_column.layer import (
    input_layer as input_layer, linear_model as linear_model, make_parse_example_spec as make_parse_example_spec,
)
from headrace.library.feature_column.numeric import (
    bucketized_column as bucketized_column, numeric_column as numeric_column,
)
