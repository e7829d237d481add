# Everything runs in .venv, which is made again when pyproject.toml changes.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo test coverage mutants lint docs export-check clean

demo: $(READY)
	@$(BIN)/tilewright demo

# Of sweeps of kernels through NVRTC and on the interpreter of PTX this takes a half, which has each type, path and
# device of theirs (``tests/covering.py``); ``pytest tests/compile`` takes all.
# What measures nothing shares the cores; what times or counts this processor has them for itself. An interpreter
# of kernels takes most of the tier compile, and would be slowed down where lines are counted. SHARED: what
# measures nothing of the tier cpu. Folders are tiers: looking through all tests takes every process 15 s.
SHARED := amx bad_einsum batch_last blocked build chain cli compact copied_calls copies cores einsum entries examples \
	export farm fast_calls folds fork forms gemm halves host_tensors kept kernels lanes libraries matmul numpy_rules \
	opt_einsum pieces plans processors sme space_pages steady stores tensors torch unload verify workspace
SHARING := $(SHARED:%=tests/cpu/test_%.py) $(addprefix tests/cpu/,cublaslt jax patches launching tile)
test: $(READY)
	@$(BIN)/python -m pytest -n auto --dist worksteal $(COUNT) tests/pure
	@$(BIN)/python -m pytest -n auto --dist worksteal --narrow tests/compile
	@$(BIN)/python -m pytest -n auto --dist worksteal $(COUNT_NEXT) $(SHARING)
	@$(BIN)/python -m pytest $(COUNT_ON) $(addprefix --ignore=,$(SHARING)) tests/cpu tests/cuda

# The same, and how much of the package is run. What runs in children of the tests is not counted.
coverage: COUNT := --cov=tilewright --cov-report=
coverage: COUNT_NEXT := --cov=tilewright --cov-append --cov-report=
coverage: COUNT_ON := --cov=tilewright --cov-append --cov-report=term:skip-covered
coverage: test

# Whether the tests see one-line slips.
mutants: $(READY)
	@$(BIN)/python -m bench.mutants

# Exported libraries by every compiler, as C99 and C++17, for other architectures under QEMU, and by CMake. Minutes.
export-check: $(READY)
	@$(BIN)/python -m bench.exported

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --no-error-summary

# The pages and the reference from the docstrings, in dist/site; a warning is an error.
docs: $(READY)
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs dist/site

$(READY): pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
		{ echo "$(PYTHON) is older than 3.11: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@echo "installing into .venv ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	@rm -rf .venv .pytest_cache .hypothesis .mypy_cache .ruff_cache .coverage dist bench/out
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
