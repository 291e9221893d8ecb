#!/bin/sh
# Makes FOLDER/python, which runs Debian's Python for aarch64 in an emulator with WHEEL and pytest installed.
# Usage: aarch64.sh WHEEL FOLDER
set -eu
wheel=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
command -v qemu-aarch64 > /dev/null || apt-get install --quiet --quiet --yes --no-install-recommends qemu-user > /dev/null
root=$folder/root
apt=$folder/apt
mkdir -p "$root" "$apt/lists/partial" "$apt/cache/archives/partial"
: > "$apt/status"
# A state of its own, so that the packages of this machine stay as they are.
as_aarch64() {
  apt-get -o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
    -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root --quiet --quiet "$@"
}
as_aarch64 update
as_aarch64 --yes --no-install-recommends --download-only install python3 libgcc-s1 libstdc++6
for package in "$apt"/cache/archives/*.deb; do dpkg-deb --extract "$package" "$root"; done
libraries=$folder/libraries
cat > "$folder/python" << END
#!/bin/sh
PYTHONHOME=$root/usr PYTHONPATH=$libraries PYTHONDONTWRITEBYTECODE=1 exec qemu-aarch64 -L $root -0 $folder/python $root/usr/bin/python3 "\$@"
END
chmod +x "$folder/python"
version=$("$folder/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
rm -rf "$libraries"
.venv/bin/pip install --quiet --disable-pip-version-check --target "$libraries" --only-binary :all: --python-version "$version" \
  --platform manylinux_2_28_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 "$wheel[dev]"
