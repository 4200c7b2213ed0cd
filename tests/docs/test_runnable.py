"""The pages that show how Headrace works print what they say they print."""

import pytest
from docs.page import check_page

PAGES = [
    "ablation.md",
    "compile.md",
    "concurrency.md",
    "coordination.md",
    "eager.md",
    "input.md",
    "life_of_a_step.md",
    "variables.md",
    "summaries.md",
    "waiting.md",
]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "page", ["life_of_a_step.md", "compile.md", "ablation.md", "eager.md", "coordination.md", "waiting.md", "queues.md"]
)
def test_a_page_prints_what_it_says(page: str) -> None:
    check_page(page)
