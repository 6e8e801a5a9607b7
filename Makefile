# The two commands of the README are `make app` and `make test`; `make help` lists the rest.
PYTHON ?= python3
PYTHONS ?= python3.11 python3.12 python3.13
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501
ADDRESS ?= localhost
# Who opens the app on their own machine finds their own instances there; who serves others says so.
OWN_HERE := $(if $(filter localhost 127.0.0.1 ::1,$(ADDRESS)),own)

# Three tests side by side on two cores: many wait for a server or a browser.
SIDE_BY_SIDE := --numprocesses $(shell $(PYTHON) -c 'import os; print(min(6, (os.cpu_count() or 2) * 3 // 2))') \
  --dist loadfile --no-loadscope-reorder
# One thread of linear algebra in each: more than there are cores wait for each other by spinning, ten times as long.
ONE_THREAD := OMP_NUM_THREADS=1
# These time this machine, so they run after the others.
ALONE := tests/end_to_end
QUICK := tests/core tests/test_imports.py tests/test_sources.py \
  --ignore tests/core/prediction --ignore tests/core/transfer

FRAMEWORKS := torch torchvision lightning transformers accelerate timm pytorch-ignite fastai jax

.DEFAULT_GOAL := help
.PHONY: help app serve quick quick-tests test test-frameworks newest coverage bench train validate samples screenshots lint lock licenses bill audit packages image clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

app: $(VENV)/serve.done ## open the app with the shipped models (PORT=8501)
	PROFET_APP_INSTANCES="$${PROFET_APP_INSTANCES-$(OWN_HERE)}" \
	  $(BIN)/profet app --port $(PORT) --host $(ADDRESS)

serve: $(VENV)/serve.done ## the endpoint alone, JSON over HTTP (PORT=8501)
	$(BIN)/profet serve --port $(PORT) --host $(ADDRESS)

quick: $(VENV)/all.done ## check style and types and run the fast tests, in under a minute
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint quick-tests

quick-tests:
	@$(ONE_THREAD) $(BIN)/python -m pytest -q $(QUICK)

test: $(VENV)/all.done ## run every test; installs a headless Chromium first
	@sh tests/browser/ensure_chromium.sh
	@$(MAKE) --no-print-directory lint
	@# Files in their order, the slowest first (tests/conftest.py), and not by their number of tests.
	@# Status 5: PYTEST_ARGS names no test of one of the two groups.
	@$(ONE_THREAD) $(BIN)/python -m pytest $(SIDE_BY_SIDE) $(ALONE:%=--ignore %) $(PYTEST_ARGS); first=$$?; \
	  $(BIN)/python -m pytest $(ALONE) $(PYTEST_ARGS); \
	  case $$first$$? in 00 | 05 | 50) ;; *) exit 1 ;; esac

test-frameworks: $(VENV)/frameworks.done ## record scripts of Lightning, Transformers, accelerate, timm, fastai, ignite and JAX (6 GB)
	$(VENV)/frameworks/bin/python -m pytest -m frameworks tests/recorder

newest: $(VENV)/pip.done ## try the newest libraries that pyproject.toml allows, in an empty environment: the fast tests, every page, a served app
	rm -rf $(VENV)/newest
	$(PYTHON) -m venv $(VENV)/newest
	$(VENV)/newest/bin/python -m pip install --quiet --disable-pip-version-check ".[test]"
	$(VENV)/newest/bin/python -m pip freeze --exclude-editable
	$(VENV)/newest/bin/profet predict sample_traces/vgg16-224px-b16-g3s.json --anchor g3s.xlarge > /dev/null
	$(VENV)/newest/bin/python -m pytest -q $(QUICK) tests/pages/test_pages.py tests/benchmarks

coverage: $(VENV)/all.done ## line and branch coverage of profet_core and the readers by the tests that need no browser
	$(ONE_THREAD) $(BIN)/python -m pytest $(SIDE_BY_SIDE) $(ALONE:%=--ignore %) --ignore tests/browser --ignore tests/deploy \
	  --cov profet_core --cov profet_profiles --cov-branch --cov-report term:skip-covered

bench: $(VENV)/all.done ## measure speed, memory and size; prints a table
	$(BIN)/python -m benchmarks

train: $(VENV)/all.done ## train all models from the measurements in data/
	$(BIN)/profet train

validate: $(VENV)/all.done ## leave-one-architecture-out accuracy tables, from the measurements in data/
	$(BIN)/profet validate
	$(BIN)/profet validate --scaler

samples: $(VENV)/all.done ## make sample_traces/ from the measurements in data/
	$(BIN)/python -m profet_lab.samples

screenshots: $(VENV)/all.done ## take the README's pictures of the app, or EVERY=DIR: all pages into a folder
	@sh tests/browser/ensure_chromium.sh
	$(BIN)/python -m docs.screenshots $(if $(EVERY),--every $(EVERY))

lint: $(VENV)/all.done ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

lock: $(VENV)/pip.done ## pin requirements.txt and requirements-serve.txt from pyproject.toml
	$(BIN)/python -m pip install --quiet uv==0.13.8
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --no-strip-extras --generate-hashes pyproject.toml -o requirements-serve.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --no-strip-extras --generate-hashes --extra train --extra test pyproject.toml -c requirements-serve.txt -o requirements.txt

licenses: $(VENV)/all.done ## list the licenses of the serving set; fails on one that is not permitted
	$(BIN)/python -m docs.locked

bill: $(VENV)/tools.done ## write the bill of materials of what serving installs
	$(VENV)/tools/bin/cyclonedx-py requirements requirements-serve.txt --output-reproducible --of JSON -o docs/sbom.cdx.json

audit: $(VENV)/tools.done ## ask an advisory database about what serving installs
	$(VENV)/tools/bin/pip-audit --strict --disable-pip --requirement requirements-serve.txt

packages: $(VENV)/tools.done ## build wheels and source distribution into dist/ and try them in empty environments (PYTHONS="python3.11 ...")
	sh deploy/try_packages.sh $(PYTHONS)

image: ## build the image and try it, with docker or podman
	sh deploy/try_image.sh

clean: ## remove the environment and caches
	rm -rf $(VENV) .pytest_cache .hypothesis .mypy_cache .ruff_cache

$(VENV)/pip.done:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "Python 3.11, 3.12 or 3.13 is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another one: make PYTHON=python3.12 ..." >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "python3-venv is missing: sudo apt-get install python3-venv" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/frameworks.done: $(VENV)/pip.done requirements.txt
	$(PYTHON) -m venv $(VENV)/frameworks
	$(VENV)/frameworks/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(VENV)/frameworks/bin/python -m pip install --quiet --disable-pip-version-check $(FRAMEWORKS)
	$(VENV)/frameworks/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/tools.done: $(VENV)/pip.done deploy/tools.txt
	$(PYTHON) -m venv $(VENV)/tools
	$(VENV)/tools/bin/python -m pip install --quiet --disable-pip-version-check -r deploy/tools.txt
	@touch $@

$(VENV)/serve.done: $(VENV)/pip.done requirements-serve.txt pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-serve.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/all.done: $(VENV)/pip.done requirements.txt pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@# It asks for TensorFlow's GPU build, so it is in no requirements file: some tests record scripts that use it.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps "tf_keras==2.21.0"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@ $(VENV)/serve.done
