# The ways to run Headrace from a checkout. Every target makes the virtual environment it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUN_STAMP := $(VENV)/.installed-to-run
# Many tests wait for processes: one job more than cores.  A job takes up to 3 GB.
JOBS ?= $(shell $(PYTHON) -c 'import os; print(min(len(os.sched_getaffinity(0)), 7) + 1)')

.DEFAULT_GOAL := help
.PHONY: help demo test quick full check pictures bench worth conformance docs release clean

# Tests are compiled once, also where the environment asks for no bytecode: pytest takes half a minute for it.
test quick full: export PYTHONDONTWRITEBYTECODE :=

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(if $(wildcard $(STAMP)),$(STAMP),$(RUN_STAMP)) ## train a small network on handwritten digits; installs what programs need
	@echo 'Starting the demo: importing PyTorch takes some seconds'
	@$(BIN)/python -m headrace.tools.demo

# The tests of Ray mostly wait: they run beside the others, one at a time, since its ports are fixed.
test: $(STAMP) ## run the tests
	@mkdir -p build
	@$(BIN)/python -m pytest -n 0 -p no:cacheprovider tests/cluster/ray_engine > build/ray_tests.log 2>&1 & ray=$$!; trap "kill $$ray" INT TERM; \
	$(BIN)/python -m pytest -n $(JOBS) --durations=20 --ignore=tests/cluster/ray_engine; others=$$?; \
	wait $$ray; of_ray=$$?; cat build/ray_tests.log; exit $$((others + of_ray))

quick: $(STAMP) ## run the tests that answer soon: no process, no socket, no compiler
	$(BIN)/python -m pytest -n $(JOBS) -q -r fE --ring quick

full: $(STAMP) ## run the slowest tests: Ray, faults and stress for minutes, the benchmarks' own
	$(BIN)/python -m pytest -n 0 --durations=20 --ring full

check: $(STAMP) ## lint, format, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

pictures: $(STAMP) ## make the pictures of TensorBoard in docs/pictures anew; needs Chromium and the extra `browser`
	HEADRACE_PICTURES=docs/pictures $(BIN)/python -m pytest -n 0 -q --ring full tests/examples/test_dashboard.py

bench: $(STAMP) ## run the benchmarks
	$(BIN)/python -m benchmarks

worth: $(STAMP) ## what each optional pass and second implementation earns, beside its lines
	$(BIN)/python -m benchmarks worth

release: $(STAMP) ## build the wheel and the source archive into dist, and check them; URL=... for the README's links
	$(BIN)/python scripts/release.py --url '$(URL)'

# HEADRACE_TF_PYTHON names an interpreter that has tensorflow; without it one is installed beside ours and kept.
TF_VERSION := 2.21.0
TF_VENV := .venv-tensorflow
TF_STAMP := $(TF_VENV)/.installed
TF_PYTHON := $(or $(HEADRACE_TF_PYTHON),$(CURDIR)/$(TF_VENV)/bin/python)
EXAMPLES ?= 40

conformance: $(STAMP) $(if $(HEADRACE_TF_PYTHON),,$(TF_STAMP)) ## compare with real TensorFlow, which is installed for it
	@HEADRACE_TF_PYTHON=$(TF_PYTHON) $(BIN)/python -m pytest -q -n 0 -k in_tensorflow tests/library/train/saver tests/library/saved_model tests/tensorflow/test_old_tests.py
	@HEADRACE_TF_PYTHON=$(TF_PYTHON) $(BIN)/python tests/conformance/everything.py --examples $(EXAMPLES)

$(TF_STAMP):
	$(PYTHON) -m venv $(TF_VENV)
	$(TF_VENV)/bin/python -m pip install --quiet tensorflow==$(TF_VERSION) pytest
	touch $@

# The site is made in an environment of its own, which finds pip, torch and the rest in ours.
DOCS_VENV := .venv-docs
DOCS_STAMP := $(DOCS_VENV)/.installed
SITE_PACKAGES := import sysconfig; print(sysconfig.get_path("purelib"))

# DOCS_BUILDER=dummy reads all pages and resolves their links, and writes nothing: a quarter of the time.
DOCS_BUILDER ?= html
docs: $(DOCS_STAMP) ## make the site of the docs in build/site; a warning is an error
	$(DOCS_VENV)/bin/python -m sphinx -b $(DOCS_BUILDER) -q -a -W --keep-going -j auto -c docs/site -d build/doctrees . build/site
	@test $(DOCS_BUILDER) != html || echo "see build/site/index.html"

$(DOCS_STAMP): $(STAMP)
	$(PYTHON) -m venv --without-pip --clear $(DOCS_VENV)
	$(BIN)/python -c '$(SITE_PACKAGES)' > $$($(DOCS_VENV)/bin/python -c '$(SITE_PACKAGES)')/headrace-venv.pth
	$(DOCS_VENV)/bin/python -m pip install --quiet --no-build-isolation -c constraints.txt -e '.[docs]'
	touch $@

clean: ## remove the virtual environment and every cache
	rm -rf $(VENV) $(TF_VENV) $(DOCS_VENV) headrace-demo .bench build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find headrace tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# Made again whenever the requirements or their pinned versions change. What the developers' environment has is enough for the demo.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) scripts/install.py --dev --into $(VENV)
	@touch $@

$(RUN_STAMP): pyproject.toml constraints.txt
	@$(PYTHON) scripts/install.py --into $(VENV)
	@touch $@
