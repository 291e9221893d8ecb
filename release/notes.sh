#!/bin/sh
# Prints the notes of a release: its part of the changelog, and where its packages were run.
# Usage: notes.sh VERSION
set -eu
cd "$(dirname "$0")/.."
changes=$(awk -v heading="## $1 (" '
  index($0, "## ") == 1 { found = index($0, heading) == 1; next }
  found && (NF || begun) { begun = 1; print }' CHANGELOG.md)
[ -n "$changes" ] || { echo "CHANGELOG.md has no version $1" >&2; exit 1; }
printf '%s\n\n## Packages\n\n' "$changes"
awk '/^\| platform/, /^$/' docs/platforms.md
awk '/^"Built, not run"/, /^$/' docs/platforms.md
