# All that is needed is Python 3.11 or later, a C compiler and make; everything else is installed into .venv.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m

.PHONY: demo test benchmark clean

demo: $(VENV)/installed
	$(VENV)/bin/python tests/demo.py

test: $(VENV)/installed
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(RUN) pytest

benchmark: $(VENV)/installed
	$(VENV)/bin/python tests/benchmark.py

clean:
	rm -rf $(VENV) build dist *.egg-info server/*.egg-info .mypy_cache .pytest_cache .ruff_cache

# Built again when the project's metadata or the grammars change.
$(VENV)/installed: pyproject.toml $(wildcard grammar/*/src/*.c) $(wildcard grammar/python/*/*.c)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "XLA Lens needs Python 3.11 or later; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@
