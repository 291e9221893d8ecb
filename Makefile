# Needs Python 3.11 or later, a C compiler, make and Node 20.11 or later; everything else goes into .venv. Only `make test-editors` takes
# programs from elsewhere: Neovim and VS Code go into folders of their own, Emacs, Kate and Chromium come from Debian.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
# With it, every server that a test starts would compile the sources again.
unexport PYTHONDONTWRITEBYTECODE
# One worker for each core. Tests of one group run on the same worker and share the dumps that it has loaded.
PYTEST := $(RUN) pytest --numprocesses auto --dist loadgroup
# What builds a release, above all a C compiler for every platform.
RELEASE := .venv-release
# jax, libtpu and xprof, which are too big to install for every test.
PEERS := .venv-crosscheck
# jax, which compiles the programs of tests/planted and tests/capturing, and what executes a notebook.
JAX := .venv-jax
# TensorFlow and Keras, and PyTorch/XLA, whose programs tests/planted compiles. The latter has 7 GB, and no target needs it: `make
# .venv-torch/installed` lets its test run.
TENSORFLOW := .venv-tensorflow
TORCH := .venv-torch
EDITORS := .venv-editors
EXTENSION := vscode-extension
VSIX := $(EXTENSION)/dist/xla-lens-linux-x64.vsix
# VS Code as a server, and its Node.
VSCODE := .vscode-test

.PHONY: demo test test-all test-pythons lint types extension quick fuzz test-editors docs screenshots vscode benchmark crosscheck prove wheels vsix dist release test-aarch64 clean

demo: $(VENV)/installed
	$(VENV)/bin/python tests/demo.py

# The checks run side by side. Where make supports it, the output of each stays in one piece.
TOGETHER := $(MAKE) --no-print-directory --jobs $(if $(filter output-sync,$(.FEATURES)),--output-sync)

test: $(VENV)/installed $(EXTENSION)/node_modules/installed
	@$(TOGETHER) lint types extension quick

# All tests: those of `make test`, then the slow ones, and the property tests once more with more examples.
test-all: test $(JAX)/installed $(TENSORFLOW)/installed
	$(PYTEST) -m 'slow or hypothesis' --hypothesis-profile thorough

# Damages 200,000 dump sets, and asks everything about each: no exception, nothing over 5 seconds of CPU time or 500 MB. What fails is printed
# with its seed. SETS=N and SEED=N choose others.
SETS ?= 200000
SEED ?= 0
fuzz: $(VENV)/installed
	$(VENV)/bin/python tests/fuzz.py sets --jobs 2 --games $(SETS) --seed $(SEED) --minutes 1440

lint: $(VENV)/installed
	$(RUN) ruff check .
	$(RUN) ruff format --check .

types: $(VENV)/installed
	$(RUN) mypy

extension: $(EXTENSION)/node_modules/installed
	npm --prefix $(EXTENSION) run check
	npm --prefix $(EXTENSION) test

# With the plus sign, the progress of the tests is shown while they run.
quick: $(VENV)/installed
	+$(PYTEST) -m 'not slow' $(TESTS)

# Runs the quick tests on the oldest Python with the lowest versions of the dependencies, and on the newest Python of this machine with the newest
# versions. PYTHONS="3.12 3.13" chooses other Pythons, PYTHONS=all chooses all.
test-pythons: $(VENV)/installed $(EXTENSION)/node_modules/installed
	+$(VENV)/bin/python tests/pythons.py $(PYTHONS)

test-editors: $(VENV)/installed $(EDITORS)/installed $(JAX)/installed $(VSCODE)/installed $(VSIX)
	sh tests/editors/install.sh
	XLA_LENS_TEST_EDITORS=1 $(RUN) pytest tests/packages tests/editors

# Updates the examples, the reference, the schemas and the findings in docs/ after a change of wording or of a docstring.
docs: $(VENV)/installed
	$(VENV)/bin/python tests/schemas.py
	$(VENV)/bin/python tests/documents.py
	$(VENV)/bin/python tests/findings_docs.py

# Takes the screenshots of the documents and the walkthrough again. Look at them before you commit them.
screenshots: $(VENV)/installed $(EDITORS)/installed $(JAX)/installed $(VSCODE)/installed $(VSIX)
	XLA_LENS_SCREENSHOTS=keep $(RUN) pytest tests/editors/vscode/test_screenshots.py tests/editors/vscode/test_notebook.py

# Opens VS Code with the extension on the sample dumps, or on those of SAMPLE=FOLDER.
vscode: $(VENV)/installed $(EDITORS)/installed $(VSIX)
	command -v code > /dev/null || $(MAKE) $(VSCODE)/installed
	PYTHONPATH=tests $(RUN) editors.vscode.serve $(SAMPLE)

# Writes docs/performance.md, compared with the last release or with BASE=COMMIT. A short run with XLA_LENS_REQUESTS only prints it.
benchmark: $(VENV)/installed
	$(VENV)/bin/python tests/benchmark.py --base "$(BASE)" $(if $(XLA_LENS_REQUESTS),,--write)

# Takes about 10 minutes and 6 GB. RECORD=--record saves the peers' numbers for the tests.
crosscheck: $(VENV)/installed $(PEERS)/installed
	$(VENV)/bin/python tests/crosscheck/crosscheck.py --python $(PEERS)/bin/python $(RECORD)

# Compiles programs with and without what the advice says, and writes the tables of docs/advice.md. Takes about an hour.
prove: $(VENV)/installed $(PEERS)/installed
	$(VENV)/bin/python tests/proving/prove.py build/proving --python $(PEERS)/bin/python

# What follows makes a release. The tests of packages take them from dist/.
PACKAGED := XLA_LENS_DIST=$(CURDIR)/dist PYTHONPATH=tests
# Without the settings of the other tests, which need more packages, and without a cache, which would get into the source distribution.
ALONE := pytest -c /dev/null -p no:cacheprovider --noconftest --import-mode importlib

# The wheels of all platforms, built on Linux.
wheels: $(RELEASE)/installed
	rm -f dist/*.whl
	$(RELEASE)/bin/python release/wheels.py dist
	$(PACKAGED) $(RELEASE)/bin/python -m $(ALONE) tests/packages/test_wheels.py

# The extension for each platform, from the wheels, and one without a server.
vsix: $(VENV)/installed $(EXTENSION)/node_modules/installed
	rm -f dist/*.vsix
	sh release/vsix.sh dist
	$(PACKAGED) $(RUN) pytest tests/packages/test_vsix.py

# Tests the wheel for aarch64 in an emulator. Needs Debian and root.
test-aarch64: $(VENV)/installed
	sh release/aarch64.sh dist/*manylinux_2_17_aarch64.whl build/aarch64
	build/aarch64/python -m pytest -p no:cacheprovider tests/text tests/grammar tests/syntax tests/model/test_facts.py tests/cli/test_cli.py

# Everything that is published, in dist/, with its checksums.
dist: $(VENV)/installed $(RELEASE)/installed $(EXTENSION)/node_modules/installed
	rm -rf dist
	$(MAKE) --no-print-directory wheels
	$(MAKE) --no-print-directory vsix
	sh release/dist.sh $(RELEASE)/bin/python dist
	$(PACKAGED) $(RELEASE)/bin/python -m $(ALONE) tests/packages/test_dist.py
	$(PACKAGED) $(RUN) pytest tests/packages/test_grammars.py

# Commits VERSION, and builds it into dist/.
release:
	$(PYTHON) release/release.py "$(VERSION)"
	$(MAKE) --no-print-directory dist

clean:
	rm -rf $(VENV) .venv-pythons $(RELEASE) $(PEERS) $(JAX) $(TENSORFLOW) $(TORCH) $(EDITORS) $(VSCODE) build dist *.egg-info server/*.egg-info .mypy_cache .pytest_cache .ruff_cache $(addprefix $(EXTENSION)/,node_modules dist server)

# Installs again when the project's metadata or the grammars change.
$(VENV)/installed: pyproject.toml $(wildcard grammar/*/src/*.[ch]) $(wildcard grammar/python/*/*.[ch])
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "XLA Lens needs Python 3.11 or later. Name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

$(EXTENSION)/node_modules/installed: $(EXTENSION)/package-lock.json
	npm --prefix $(EXTENSION) ci --loglevel error
	touch $@

$(PEERS)/installed: tests/crosscheck/requirements.txt tests/crosscheck/requirements-cuda.txt
$(EDITORS)/installed: tests/editors/requirements.txt
$(JAX)/installed: tests/planted/requirements.txt
$(TENSORFLOW)/installed: tests/planted/requirements-tensorflow.txt
$(TORCH)/installed: tests/planted/requirements-torch.txt
$(RELEASE)/installed: release/requirements.txt
$(PEERS)/installed $(JAX)/installed $(TENSORFLOW)/installed $(TORCH)/installed $(EDITORS)/installed $(RELEASE)/installed:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --requirement $<
# Without the plugin, `make crosscheck` leaves out GPUs.
	$(if $(findstring $(PEERS),$@),-$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --requirement tests/crosscheck/requirements-cuda.txt)
	touch $@

$(VSCODE)/installed: tests/editors/vscode/install.sh tests/editors/vscode/install-node.sh $(EDITORS)/installed
	mkdir -p $(@D)
	sh tests/editors/vscode/install-node.sh $(EDITORS) $(@D)/node
	sh tests/editors/vscode/install.sh $(@D)
	touch $@

$(VSIX): $(VENV)/installed $(EXTENSION)/node_modules/installed $(EXTENSION)/package.json $(EXTENSION)/commands.json \
    $(EXTENSION)/manifest.mjs $(EXTENSION)/build.mjs $(EXTENSION)/map/build.mjs $(EXTENSION)/bundle_server.py \
    $(shell find $(EXTENSION)/src $(EXTENSION)/shared $(EXTENSION)/languages $(EXTENSION)/media \
    $(EXTENSION)/start.py server grammar/xla_dump/src grammar/hlo/src grammar/python -type f \
    -not -path '*/__pycache__/*' -not -path '*/screenshots/*' -not -path '*/sample/*' -not -path '*.egg-info/*' -not -name '*.so')
	npm --prefix $(EXTENSION) run package
