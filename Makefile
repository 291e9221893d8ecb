# All that is needed is Python 3.11 or later, a C compiler, make and node; everything else is installed into .venv. Only editors
# for test-editors come from elsewhere: Neovim into a folder of its own, Emacs and Kate from Debian.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
# For peers that are too big to be installed for every test.
PEERS := .venv-crosscheck
EDITORS := .venv-editors
EXTENSION := vscode-extension

.PHONY: demo test test-editors benchmark crosscheck clean

demo: $(VENV)/installed
	$(VENV)/bin/python tests/demo.py

test: $(VENV)/installed $(EXTENSION)/node_modules/installed
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	npm --prefix $(EXTENSION) run check
	npm --prefix $(EXTENSION) test
	$(RUN) pytest

test-editors: $(VENV)/installed $(EDITORS)/installed
	sh tests/editors/install.sh
	$(RUN) pytest tests/editors

benchmark: $(VENV)/installed
	$(VENV)/bin/python tests/benchmark.py

# RECORD=--record keeps what was found for the tests.
crosscheck: $(VENV)/installed $(PEERS)/installed
	$(VENV)/bin/python tests/crosscheck/crosscheck.py --python $(PEERS)/bin/python $(RECORD)

clean:
	rm -rf $(VENV) $(PEERS) $(EDITORS) build dist *.egg-info server/*.egg-info .mypy_cache .pytest_cache .ruff_cache $(addprefix $(EXTENSION)/,node_modules dist server/libraries)

# Built again when the project's metadata or the grammars change.
$(VENV)/installed: pyproject.toml $(wildcard grammar/*/src/*.c) $(wildcard grammar/python/*/*.c)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "XLA Lens needs Python 3.11 or later; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

$(EXTENSION)/node_modules/installed: $(EXTENSION)/package-lock.json
	npm --prefix $(EXTENSION) ci --loglevel error
	touch $@

$(PEERS)/installed: tests/crosscheck/requirements.txt
$(EDITORS)/installed: tests/editors/requirements.txt
$(PEERS)/installed $(EDITORS)/installed:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@
