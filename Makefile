# Everything a fresh machine with Python 3.11+ and Java 17 or 21 needs; `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
UV := $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python
LOCKS := requirements/run.txt requirements/dev.txt requirements/build.txt requirements/uv.txt
COMPILE = $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --universal \
          --python-version 3.11 --custom-compile-command "make lock"

.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench reference lock format clean

help: ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## make .venv with penstock and everything that is locked

$(READY): $(LOCKS) pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "penstock needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@$(UV) --require-hashes --build-constraints requirements/build.txt -r requirements/run.txt -r requirements/dev.txt
	@$(UV) --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## a real topic, landed in real tables, accounted for
	@$(BIN)/penstock demo

test: $(READY) ## everything, with real Kafka, real Spark and real tables
	@$(BIN)/python -m pytest tests --numprocesses auto --dist worksteal

check: $(READY) ## style, types, layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy || { test $$? -eq 2 && $(BIN)/mypy --show-traceback; }  # 2: not a finding, it crashed; rarely, and never twice
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest --quiet tests/test_architecture.py

bench: $(READY) ## measure, against plain Spark, in one run
	@$(BIN)/python -m bench

reference: $(READY) ## write docs/reference anew
	@$(BIN)/python docs/reference/generate.py

format: $(READY) ## rewrite the sources as `make check` wants them
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

lock: $(READY) ## resolve the dependencies anew and pin them by hash
	@$(COMPILE) pyproject.toml -o requirements/run.txt
	@$(COMPILE) requirements/dev.in -c requirements/run.txt -o requirements/dev.txt
	@$(COMPILE) requirements/build.in -o requirements/build.txt
	@$(COMPILE) requirements/uv.in -o requirements/uv.txt

clean: ## remove what was built and measured, keep the environment
	@rm -rf build dist penstock-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
