# Two commands on a fresh machine: `make matrix` runs the main job, `make test` the tests.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
OUT ?= gpumatrix-results
# Pinned so that both commands do the same tomorrow; the trainer itself takes torch >= 2.7 and triton >= 3.4.
TORCH ?= torch==2.13.0
TRITON ?= triton==3.7.1

LOWEST := $(VENV)-lowest
LOWEST_TESTS := $(addprefix tests/,commands config gate hardware history record render triage verdict plugin end_to_end)

.PHONY: matrix test test-lowest lint clean

matrix: $(VENV)/.installed
	@rm -rf "$(OUT)"
	@$(BIN)/python -m pytest tests/trainer -q -r fE --gpu-matrix --gpu-devices=h100,rtx3090 --gpu-matrix-out="$(OUT)"; \
	tests=$$?; \
	$(BIN)/gpumatrix report "$(OUT)" --format markdown --output "$(OUT)/report.md"; \
	verdict=$$?; \
	echo; echo "The report, in $(OUT)/report.md, says:"; sed -n 3p "$(OUT)/report.md"; \
	exit $$((tests ? tests : verdict))

test: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2

# The oldest dependencies that pyproject.toml admits; without torch, so what needs it is skipped.
test-lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/python -m pytest -n 2 -q $(LOWEST_TESTS)

lint: $(VENV)/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "gpumatrix needs Python 3.10 or later: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Installing into $(VENV) (torch, triton and the tools; some minutes the first time)"
	@$(PYTHON) -m venv "$(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "$(TORCH)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "$(TRITON)" -e ".[trainer,dev]"
	@touch "$@"

$(LOWEST)/.installed: pyproject.toml tests/lowest.txt
	@$(PYTHON) -m venv "$(LOWEST)"
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -r tests/lowest.txt pytest-xdist hypothesis jsonschema
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch "$@"

clean:
	rm -rf "$(VENV)" "$(LOWEST)" "$(OUT)" .pytest_cache .mypy_cache .ruff_cache
