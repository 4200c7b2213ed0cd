"""Makes tests/golden/profile.json with real TensorFlow: run with a Python that has it."""

from profile_cases import CASES, chain, measure, options
from real import keep, tf


def main() -> None:
    builder = tf.profiler.ProfileOptionBuilder
    results = {
        "options": {
            **{name: chosen for name, (_, chosen) in options(tf).items()},
            "time": builder.time_and_memory(min_micros=3),
            "plain": builder().build(),
            "chain": chain(tf),
        },
        "graphs": {case: measure(tf, case) for case in CASES},
    }
    keep("profile.json", results, separators=(",", ":"))


if __name__ == "__main__":
    main()
