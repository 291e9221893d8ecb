#!/bin/sh
# Adds to the packages in DIST: the source distribution, the grammars, lists of what the packages contain, and checksums.
# Usage: dist.sh PYTHON DIST
set -eu
python=$1
dist=$2
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
"$python" -m build --sdist --outdir "$dist" . > /dev/null
git archive --format tar.gz --prefix tree-sitter-xla/ --output "$dist/tree-sitter-xla.tar.gz" HEAD:grammar
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" -m venv "$scratch/python"
"$scratch/python/bin/pip" install --quiet --disable-pip-version-check "$dist"/*-manylinux_2_17_"$(uname -m)".whl
"$python" -m cyclonedx_py environment --output-reproducible --outfile "$dist/xla-lens-python.cdx.json" "$scratch/python/bin/python"
npm --prefix vscode-extension sbom --omit dev --sbom-format cyclonedx > "$dist/xla-lens-vscode.cdx.json"
(cd "$dist" && sha256sum -- * > "$scratch/SHA256SUMS" && mv "$scratch/SHA256SUMS" .)
