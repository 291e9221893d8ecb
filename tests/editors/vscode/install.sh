#!/bin/sh
# Installs VS Code as a server into FOLDER/server, with the Node in FOLDER/node. Installs Chromium and build dependencies from
# Debian if they are missing and the user is root. Takes about two minutes and 600 MB.
# Usage: install.sh FOLDER
set -eu

VERSION=4.139.1
browser="chromium fonts-dejavu-core"
build="g++ libkrb5-dev libsecret-1-dev libx11-dev libxkbfile-dev make pkg-config python3"

are_there() {
  command -v chromium > /dev/null && command -v g++ > /dev/null && command -v make > /dev/null \
    && command -v python3 > /dev/null && pkg-config --exists krb5-gssapi libsecret-1 x11 xkbfile 2> /dev/null
}

if ! are_there; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
    echo "VS Code in a browser needs Chromium and some libraries. Run as root on Debian: apt-get install $browser $build" >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update --quiet --quiet
  # shellcheck disable=SC2086
  apt-get install --quiet --quiet --yes --no-install-recommends $browser $build > /dev/null
  if ! are_there; then
    echo "Chromium or libraries are still missing after: apt-get install $browser $build" >&2
    exit 1
  fi
fi

folder=$(cd "$1" && pwd)
PATH=$folder/node/bin:$PATH
export PATH npm_config_nodedir="$folder/node" npm_config_build_from_source=true
log=$folder/install.log
rm -rf "$folder/server"
mkdir "$folder/server"
# Keeps npm from installing into the surrounding project.
echo '{ "private": true }' > "$folder/server/package.json"
npm install --prefix "$folder/server" --no-audit --no-fund "code-server@$VERSION" > "$log" 2>&1 \
  && node "$folder/server/node_modules/code-server/out/node/entry.js" --version >> "$log" 2>&1 \
  || { tail -n 20 "$log" >&2; echo "Installing VS Code failed; see $log" >&2; exit 1; }
