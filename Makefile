# The two commands of the README are `make app` and `make test`; `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501
ADDRESS ?= localhost
# Who opens the app on their own machine finds their own instances there; who serves others says so.
OWN_HERE := $(if $(filter localhost 127.0.0.1 ::1,$(ADDRESS)),own)

.DEFAULT_GOAL := help
.PHONY: help app serve test bench train validate samples screenshots lint lock licences bill audit image clean

help: ## list the commands
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

app: $(VENV)/serve.done ## open the app with the shipped models (PORT=8501)
	PROFET_APP_INSTANCES="$${PROFET_APP_INSTANCES-$(OWN_HERE)}" \
	  $(BIN)/streamlit run streamlit_app.py --server.port $(PORT) --server.address $(ADDRESS)

serve: $(VENV)/serve.done ## the endpoint alone, JSON over HTTP (PORT=8501)
	$(BIN)/profet serve --port $(PORT) --host $(ADDRESS)

test: $(VENV)/all.done ## run every test; installs the training set and a headless Chromium first
	@sh tests/browser/ensure_chromium.sh
	@sh tests/collect/cloud/ensure_skypilot.sh $(PYTHON) $(VENV)/skypilot
	@$(MAKE) --no-print-directory lint
	@# Files in their order: sorted by their number of tests, the few slow ones would keep one core busy at the end.
	@# Tests that measure this machine run after the others; 5: no test is among what PYTEST_ARGS names.
	$(BIN)/python -m pytest --alone without --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS); \
	  others=$$?; case $$others in 0 | 1 | 5) ;; *) exit $$others ;; esac; \
	  $(BIN)/python -m pytest --alone only $(PYTEST_ARGS); \
	  case $$others$$? in 00 | 05 | 50) ;; *) exit 1 ;; esac

bench: $(VENV)/all.done ## measure speed, memory and size; prints a table
	$(BIN)/python -m benchmarks

train: $(VENV)/all.done ## train all models from the measurements (PROFET_DATA)
	$(BIN)/profet train

validate: $(VENV)/all.done ## leave-one-architecture-out tables (PROFET_DATA)
	$(BIN)/profet validate
	$(BIN)/profet validate --scaler

samples: $(VENV)/all.done ## make sample_traces/ from the measurements (PROFET_DATA)
	$(BIN)/python -m profet_lab.samples

screenshots: $(VENV)/all.done ## take the README's pictures of the app anew (needs a Chromium)
	@sh tests/browser/ensure_chromium.sh
	$(BIN)/python -m docs.screenshots

lint: $(VENV)/all.done ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

lock: $(VENV)/pip.done ## pin requirements.txt and requirements-serve.txt from pyproject.toml
	$(BIN)/python -m pip install --quiet uv==0.13.8
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --generate-hashes pyproject.toml -o requirements-serve.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --generate-hashes --extra train --extra test pyproject.toml -c requirements-serve.txt -o requirements.txt

licences: $(VENV)/all.done ## list the licences of what serving installs; fails on one that is not permitted
	$(BIN)/python -m docs.licences

bill: $(VENV)/tools.done ## write the bill of materials of what serving installs
	$(VENV)/tools/bin/cyclonedx-py requirements requirements-serve.txt --output-reproducible --of JSON -o docs/sbom.cdx.json

audit: $(VENV)/tools.done ## ask an advisory database about what serving installs
	$(VENV)/tools/bin/python docs/audit.py

image: ## build the image and try it, with docker or podman
	sh deploy/try_image.sh

clean: ## remove the environment and caches
	rm -rf $(VENV) .pytest_cache .hypothesis .ruff_cache

$(VENV)/pip.done:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "Python 3.11, 3.12 or 3.13 is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another one: make PYTHON=python3.12 ..." >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "python3-venv is missing: sudo apt-get install python3-venv" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
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
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@ $(VENV)/serve.done
