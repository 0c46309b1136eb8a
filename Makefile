# Each target sets itself up into .venv; the second time that costs nothing.
PYTHON ?= python3
PY := .venv/bin/python
JOB ?= conceptnet
WORKERS ?= 6

# Tests start hundreds of processes: each would compile the same modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test check bench soak lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/run: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Sheaf needs Python 3.11 or newer; set PYTHON=python3.12 or similar")'
	@$(PYTHON) -m venv .venv
	@echo "installing requirements into .venv ..."
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

.venv/dev: .venv/run requirements-dev.lock
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

run: .venv/run ## harvest the built-in sample world, offline; or JOB=pages, layers, structure
	@$(PY) main.py $(JOB) --sample --look

test: .venv/dev ## every test; servers are started by the tests themselves
	@scripts/test-needs
	@$(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder || { [ $$? = 1 ] && scripts/test-again; }

check: .venv/dev ## lint, types, and who imports whom
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/mypy scripts/nats # two scripts without an ending would be one module
	@.venv/bin/lint-imports --no-logo

bench: .venv/dev ## side-by-side measurements (minutes), see bench/README.md
	@$(PY) -m bench

soak: .venv/dev ## a large sample world with random faults, compared with an undisturbed run (minutes)
	@$(PY) -m tests.soak

COMPILE := $(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --upgrade --custom-compile-command 'make lock'

lock: .venv/dev ## pin the newest versions that requirements*.txt allow, with their hashes
	@$(COMPILE) -o requirements.lock requirements.txt
	@$(COMPILE) -c requirements.lock -o requirements-dev.lock requirements-dev.txt

clean: ## remove .venv and caches; never touches a harvest
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
