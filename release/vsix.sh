#!/bin/sh
# Packages the extension for each platform with the wheels in DIST, and once without a server.
# Usage: vsix.sh DIST
set -eu
dist=$(cd "$1" && pwd)
cd "$(dirname "$0")/../vscode-extension"
# The same commit gives the same bytes.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
for target in linux-x64 linux-arm64 alpine-x64 darwin-x64 darwin-arm64 win32-x64 universal; do
  npm run --silent package -- $target --wheels "$dist"
  mv "dist/xla-lens-$target.vsix" "$dist"
done
