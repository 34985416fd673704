# The one command surface: people, pre-commit, CI and .ci/run call these targets and nothing else.
# Needs Python 3.10 or newer with venv, make, and apt (or the GL libraries already there).

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?=
TESTS ?=
ARGS ?=
RECIPE ?= mini-vla
PROCESSES ?= 2
TORCH ?= torch==2.13.0
PROJECTS := pyproject.toml packages/vlassess-link/pyproject.toml
PIP := $(BIN)/python -m pip --disable-pip-version-check
BENCHES := execution wire tabletop realtime recording grounding statistics validation libero

# A benchmark is a file, or a folder with a __main__.py where a file would hide a module of the standard library.
bench_path = $(firstword $(wildcard benchmarks_perf/$(1).py benchmarks_perf/$(1)/__main__.py))

export MUJOCO_GL ?= egl

.PHONY: help
help: ## Say what each target does
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' Makefile | column -t -s '|'

.PHONY: demo
demo: $(VENV)/.run gl ## Evaluate a small policy that sees beside an expert and random actions, and write a report
	$(BIN)/vlassess run tabletop-demo

.PHONY: metaworld
metaworld: $(VENV)/.run gl ## Evaluate MetaWorld's experts in an environment of its own, with a video of each task
	$(BIN)/vlassess run metaworld-quick --set artifacts.video=sample

.PHONY: pusht
pusht: $(VENV)/.run ## Evaluate random actions on PushT in an environment of its own, with a video of each policy
	$(BIN)/vlassess run pusht --set artifacts.video=sample --set artifacts.sample=1

.PHONY: libero
libero: $(VENV)/.run gl ## Evaluate a scripted expert and random actions on LIBERO in an environment of its own (2 GB), with videos
	$(BIN)/vlassess run libero_spatial --episodes-per-task 5 --policy libero-expert --policy random --workers 2 --video 2 $(ARGS)

.PHONY: test
test: $(VENV)/.test gl ## Run all tests (TESTS="tests/unit -k seeds" for some)
	$(BIN)/python -m pytest -n 2 $(TESTS)

.PHONY: test-slow
test-slow: $(VENV)/.test gl ## Test what takes minutes: brute force, simulated studies, experts of all suites
	$(BIN)/python -m pytest -n 2 --slow -m slow tests/unit tests/docs tests/functional tests/benchmarks

.PHONY: test-browser
test-browser: $(VENV)/.test ## Open the report in Chromium and use it
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; }
	$(BIN)/python -m pytest tests/browser

.PHONY: test-tracking
test-tracking: ## Tell a result to real W&B, MLflow and TensorBoard, offline, in an environment of their own
	@[[ -x $(VENV)-tracking/bin/python ]] || tools/make_venv.sh $(VENV)-tracking $(PYTHON)
	$(VENV)-tracking/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(VENV)-tracking/bin/python -m pip install --quiet --disable-pip-version-check --group test \
	    --editable packages/vlassess-link --editable ".[wandb,mlflow,tensorboard]" tensorboard "setuptools<81"
	$(VENV)-tracking/bin/python -m pytest tests/tracking

.PHONY: test-lerobot
test-lerobot: $(VENV)/.test gl ## Let lerobot and Rerun read what we write, in an environment of their own (6 GB)
	@[[ -x $(VENV)-lerobot/bin/python ]] || tools/make_venv.sh $(VENV)-lerobot $(PYTHON)
	@ldconfig -p | grep -q 'libavcodec\.so' || { apt-get update -qq && apt-get install -y -qq --no-install-recommends ffmpeg; }
	$(VENV)-lerobot/bin/python -m pip install --quiet --disable-pip-version-check --requirement tests/datasets/requirements.txt
	$(VENV)-lerobot/bin/python -m pip install --quiet --disable-pip-version-check --no-deps lerobot==0.4.4
	$(VENV)-lerobot/bin/python -m pip install --quiet --disable-pip-version-check \
	    --editable packages/vlassess-link --editable .
	VLASSESS_LEROBOT=$(abspath $(VENV)-lerobot/bin/python) $(BIN)/python -m pytest tests/datasets

.PHONY: train
train: $(VENV)-train/.train gl ## Train mini-vla from nothing: collect, learn, evaluate (RECIPE=mini-vla-weak for its sibling)
	$(VENV)-train/bin/python -m vlassess.training train $(RECIPE) --processes $(PROCESSES) $(ARGS)

.PHONY: train-rsb
train-rsb: ## Fine-tune mini-vla on demonstrations of rsb-math-4, and evaluate it plain and under all controls
	$(MAKE) --no-print-directory train RECIPE=mini-vla-rsb

.PHONY: test-train
test-train: $(VENV)-train/.train gl ## Test the training with real PyTorch, in an environment of its own (1 GB)
	$(VENV)-train/bin/python -m pip install --quiet --disable-pip-version-check --group test
	$(VENV)-train/bin/python -m pytest tests/training tests/policies

.PHONY: test-validation
test-validation: $(VENV)/.run ## Validate a photo classifier and mini-vla at the published radii, in an environment of its own (1 GB)
	@[[ -x $(VENV)-validation/bin/python ]] || tools/make_venv.sh $(VENV)-validation $(PYTHON)
	$(VENV)-validation/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(VENV)-validation/bin/python -m pip install --quiet --disable-pip-version-check --group test \
	    --requirement tests/validation/requirements.txt --editable packages/vlassess-link --editable ".[sim]"
	VLASSESS_VALIDATION=1 $(VENV)-validation/bin/python -m pytest --slow tests/validation

.PHONY: test-libero
test-libero: $(VENV)/.test gl ## Test LIBERO against its own API, in an environment of its own (2 GB, some 15 minutes)
	VLASSESS_LIBERO=1 $(BIN)/python -m pytest tests/benchmarks/libero

.PHONY: test-peers
test-peers: $(VENV)/.test ## Test the wire against vla-eval and openpi, each in an environment of its own (400 MB)
	VLASSESS_PEERS=1 $(BIN)/python -m pytest --slow tests/peers tests/link/wire/test_vlaeval.py

.PHONY: check
check: lint types imports sizes docs ## Check everything but behaviour: style, types, layers, sizes, docs

.PHONY: lint
lint: $(VENV)/.check ## Check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

.PHONY: types
types: $(VENV)/.check ## Check types
	$(BIN)/mypy

.PHONY: imports
imports: $(VENV)/.check ## Check that the layers hold
	$(BIN)/lint-imports

.PHONY: sizes
sizes: $(VENV)/.check ## Check the size budgets
	$(BIN)/python tools/check_sizes.py src packages

.PHONY: docs
docs: $(VENV)/.check ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

.PHONY: format
format: $(VENV)/.check ## Mend what can be mended of style and format; write the schemas anew
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python tools/write_schemas.py > /dev/null

.PHONY: bench
bench: ## Measure our own speed: make bench NAME=execution
	@if [[ " $(BENCHES) " != *" $(NAME) "* || -z "$(NAME)" ]]; then \
	    echo "No benchmark is called '$(NAME)': use make bench NAME=, with one of: $(BENCHES)." >&2; exit 2; fi
	@if [[ -z "$(call bench_path,$(NAME))" ]]; then \
	    echo "The benchmark '$(NAME)' does not exist yet; those that do: $(or $(strip $(foreach name,$(BENCHES),$(if $(call bench_path,$(name)),$(name)))),none)." >&2; exit 2; fi
	@$(MAKE) --no-print-directory gl
	PYTHONPATH=benchmarks_perf $(BIN)/python $(call bench_path,$(NAME)) $(ARGS)

.PHONY: gl
gl: $(VENV)/.run
	@$(BIN)/python tools/gl_libraries.py

.PHONY: clean
clean: ## Remove everything that the targets made, but not runs/
	rm -rf $(VENV) site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One virtual environment, grown in three steps; a stamp is older than the files that it depends on
# when these have changed, and then its step runs again.

$(BIN)/python:
	@tools/make_venv.sh $(VENV) $(PYTHON)

$(VENV)/.run: $(PROJECTS) | $(BIN)/python
	$(PIP) install --quiet --upgrade "pip>=25.1"
	$(PIP) install --quiet --editable packages/vlassess-link --editable ".[sim,artifacts]"
	@touch $@

$(VENV)/.test: $(VENV)/.run
	$(PIP) install --quiet --group test
	@touch $@

$(VENV)-train/.train: $(PROJECTS)
	@[[ -x $(VENV)-train/bin/python ]] || tools/make_venv.sh $(VENV)-train $(PYTHON)
	$(VENV)-train/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(VENV)-train/bin/python -m pip install --quiet --disable-pip-version-check "$(TORCH)" \
	    --editable packages/vlassess-link --editable ".[sim,train]"
	@touch $@

$(VENV)/.check: $(VENV)/.test
	$(PIP) install --quiet --group check
	@touch $@
