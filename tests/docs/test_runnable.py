"""The pages that show how Headrace works print what they say they print."""

import pytest
from docs.page import check_page

PAGES = [
    "add_a_pass.md",
    "ablation.md",
    "concurrency.md",
    "checkpoints.md",
    "coordination.md",
    "costs.md",
    "devices.md",
    "distribute.md",
    "partitions.md",
    "porting.md",
    "eager.md",
    "estimator.md",
    "explain.md",
    "datasets.md",
    "debugging.md",
    "how_to.md",
    "input.md",
    "life_of_a_step.md",
    "keras.md",
    "mixed_precision.md",
    "queues.md",
    "replicas.md",
    "saved_model.md",
    "summaries.md",
    "training_loops.md",
    "variables.md",
    "waiting.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_prints_what_it_says(page: str) -> None:
    check_page(page)


@pytest.mark.usefixtures("full_length")
def test_the_page_that_compiles() -> None:
    check_page("compile.md")
