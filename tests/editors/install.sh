#!/bin/sh
# Installs Emacs with eglot, and Kate, from Debian if they are missing and this runs as root.
set -eu

are_installed() {
  emacs --batch --eval '(progn (package-initialize) (require (quote eglot)))' > /dev/null 2>&1 \
    && command -v emacsclient > /dev/null && command -v kate > /dev/null
}

if are_installed; then exit 0; fi
packages="emacs-nox elpa-eglot kate"
if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
  echo "make test-editors needs Emacs 28 or later with eglot, and Kate. On Debian, run as root: apt-get install $packages" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update --quiet --quiet
# shellcheck disable=SC2086
apt-get install --quiet --quiet --yes --no-install-recommends $packages > /dev/null
if ! are_installed; then
  echo "Emacs with eglot, or Kate, is still missing after: apt-get install $packages" >&2
  exit 1
fi
