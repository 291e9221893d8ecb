# All that is needed is Python 3.11 or later, a C compiler, make and node; everything else is installed into .venv. Only editors
# for test-editors come from elsewhere: Neovim and VS Code into folders of their own, Emacs, Kate and Chromium from Debian.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
# One worker for each core. Tests of one group share a worker and what it has loaded.
PYTEST := $(RUN) pytest --numprocesses auto --dist loadgroup
# For peers that are too big to be installed for every test.
PEERS := .venv-crosscheck
EDITORS := .venv-editors
EXTENSION := vscode-extension
VSIX := $(EXTENSION)/dist/xla-lens-linux-x64.vsix
# VS Code as a server, and the Node that it runs on.
VSCODE := .vscode-test

.PHONY: demo test test-all lint types extension quick test-editors screenshots vscode benchmark crosscheck clean

demo: $(VENV)/installed
	$(VENV)/bin/python tests/demo.py

# The independent checks run side by side. Where make can, it prints the output of each in one piece.
TOGETHER := $(MAKE) --no-print-directory --jobs $(if $(filter output-sync,$(.FEATURES)),--output-sync)

test: $(VENV)/installed $(EXTENSION)/node_modules/installed
	@$(TOGETHER) lint types extension quick

# All tests, with those of `make test`.
test-all: $(VENV)/installed $(EXTENSION)/node_modules/installed
	@$(TOGETHER) lint types extension
	$(PYTEST)

lint: $(VENV)/installed
	$(RUN) ruff check .
	$(RUN) ruff format --check .

types: $(VENV)/installed
	$(RUN) mypy

extension: $(EXTENSION)/node_modules/installed
	npm --prefix $(EXTENSION) run check
	npm --prefix $(EXTENSION) test

# The plus sign makes make pass the progress of the tests on as it comes.
quick: $(VENV)/installed
	+$(PYTEST) -m 'not slow'

test-editors: $(VENV)/installed $(EDITORS)/installed $(VSCODE)/installed $(VSIX)
	sh tests/editors/install.sh
	$(RUN) pytest tests/editors

# Those that README.md and the walkthrough show; to be looked at before they are committed.
screenshots: $(VENV)/installed $(EDITORS)/installed $(VSCODE)/installed $(VSIX)
	XLA_LENS_SCREENSHOTS=$(EXTENSION)/media/screenshots $(RUN) pytest tests/editors/vscode/test_screenshots.py

# With SAMPLE=FOLDER another folder of dumps.
vscode: $(VENV)/installed $(EDITORS)/installed $(VSIX)
	command -v code > /dev/null || $(MAKE) $(VSCODE)/installed
	PYTHONPATH=tests $(RUN) editors.vscode.serve $(SAMPLE)

benchmark: $(VENV)/installed
	$(VENV)/bin/python tests/benchmark.py

# RECORD=--record keeps what was found for the tests.
crosscheck: $(VENV)/installed $(PEERS)/installed
	$(VENV)/bin/python tests/crosscheck/crosscheck.py --python $(PEERS)/bin/python $(RECORD)

clean:
	rm -rf $(VENV) $(PEERS) $(EDITORS) $(VSCODE) build dist *.egg-info server/*.egg-info .mypy_cache .pytest_cache .ruff_cache $(addprefix $(EXTENSION)/,node_modules dist server/libraries)

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

$(VSCODE)/installed: tests/editors/vscode/install.sh tests/editors/vscode/install-node.sh $(EDITORS)/installed
	mkdir -p $(@D)
	sh tests/editors/vscode/install-node.sh $(EDITORS) $(@D)/node
	sh tests/editors/vscode/install.sh $(@D)
	touch $@

$(VSIX): $(VENV)/installed $(EXTENSION)/node_modules/installed $(EXTENSION)/package.json $(EXTENSION)/build.mjs \
    $(EXTENSION)/bundle_server.py $(shell find $(EXTENSION)/src $(EXTENSION)/languages $(EXTENSION)/media \
    $(EXTENSION)/server server grammar/xla_dump/src grammar/hlo/src grammar/python -type f \
    -not -path '*/libraries/*' -not -path '*/__pycache__/*' -not -path '*/screenshots/*' -not -path '*/sample/*' \
    -not -path '*.egg-info/*' -not -name '*.so' -not -name bundle.json)
	npm --prefix $(EXTENSION) run package
