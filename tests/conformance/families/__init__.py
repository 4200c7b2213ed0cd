"""Random calls by family: each module has `OPS`, op -> a function of a Draw that makes a call."""
