#!/bin/sh
# Adds to the packages in DIST: the source distribution, the grammars, lists of what the packages contain, and checksums.
# Usage: dist.sh PYTHON DIST
set -eu
python=$1
dist=$2
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
"$python" -m build --sdist --outdir "$dist" . > /dev/null
sh release/grammars.sh "$python" "$dist"
"$python" release/sbom.py "$dist"
(cd "$dist" && rm -f SHA256SUMS && sha256sum -- * > ../SHA256SUMS.new && mv ../SHA256SUMS.new SHA256SUMS)
