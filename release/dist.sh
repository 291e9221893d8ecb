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
# setuptools records when it packed the files of a source distribution, and in no particular order.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for archive in "$dist"/xla_lens-*.tar.gz "$dist"/tree_sitter_xla-*.tar.gz; do
  name=$(basename "$archive" .tar.gz)
  tar --extract --file "$archive" --directory "$folder"
  tar --create --format pax --pax-option delete=atime,delete=ctime,exthdr.name=%d/PaxHeaders/%f --sort name \
    --mtime "@$SOURCE_DATE_EPOCH" --owner 0 --group 0 --numeric-owner --mode go=rX,u+rw --directory "$folder" "$name" \
    | gzip --no-name > "$archive"
done
"$python" release/sbom.py "$dist"
(cd "$dist" && rm -f SHA256SUMS && sha256sum -- * > ../SHA256SUMS.new && mv ../SHA256SUMS.new SHA256SUMS)
