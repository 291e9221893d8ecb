#!/bin/sh
# Packages the grammars into DIST: their sources with all bindings, the package for Python, and WebAssembly.
# Usage: grammars.sh PYTHON DIST
set -eu
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dist=$(cd "$2" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sources=$folder/tree-sitter-xla
git archive HEAD grammar LICENSE | tar --extract --directory "$folder"
mv "$folder/grammar" "$sources"
mv "$folder/LICENSE" "$sources"
# The binding of XLA Lens itself, which needs its other sources.
rm -r "$sources/python"
tar --create --gzip --sort name --mtime "@$SOURCE_DATE_EPOCH" --owner 0 --group 0 --numeric-owner --mode go=rX,u+rw \
  --file "$dist/tree-sitter-xla.tar.gz" --directory "$folder" tree-sitter-xla
"$python" -m build --sdist --outdir "$dist" "$sources" > "$folder/log" || { cat "$folder/log"; exit 1; }
# As `tree-sitter build --wasm` does, with Zig's compiler. Engines without the newest instructions can load the result.
for grammar in xla_dump hlo; do
  (
    cd "$sources/$grammar/src"
    mkdir "$folder/$grammar"
    for source in *.c; do
      "$python" -m ziglang cc -target wasm32-wasi -mcpu=mvp -fPIC -Os -fvisibility=hidden -I . -c "$source" \
        -o "$folder/$grammar/$source.o"
    done
    "$python" -m ziglang wasm-ld --experimental-pic -shared --strip-all --allow-undefined --no-entry \
      --export="tree_sitter_$grammar" -o "$dist/tree-sitter-$grammar.wasm" "$folder/$grammar"/*.o
  )
done
