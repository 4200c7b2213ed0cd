"""The modules that measure."""

import importlib
import pkgutil

import pytest

import benchmarks

MODULES = [module.name for module in pkgutil.iter_modules(benchmarks.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_a_benchmark_finds_the_names_that_it_imports(name):
    importlib.import_module(f"benchmarks.{name}")
