"""Writes down what the packages contain: `NAME.cdx.json` beside each extension, and `xla-lens.cdx.json` for the wheels.

    python sbom.py DIST

The lists are read from the packages themselves: the metadata of the Python libraries in an extension, and the names of
the libraries in bundled JavaScript, whose versions are those of `package-lock.json`. The format is CycloneDX.
"""

import argparse
import datetime
import email
import hashlib
import io
import json
import os
import re
import tarfile
import uuid
import zipfile
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent

_NOTICE: Final = re.compile(r"^((?:@[\w.-]+/)?[\w.-]+)\n\n", re.MULTILINE)
"""The name of a library, above its license in the notices of bundled JavaScript."""


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder with the packages")
    folder: Path = parser.parse_args().folder
    wheels = sorted(folder.glob("xla_lens-*.whl"))
    for path in [*sorted(folder.glob("*.vsix")), *wheels[:1]]:
        # All wheels contain the same, each for its platform.
        name, files = ("xla-lens", wheels) if path in wheels else (path.stem, [path])
        text = json.dumps(describe(path, files), indent=2) + "\n"
        (folder / f"{name}.cdx.json").write_text(text, "utf-8")


def describe(package: Path, files: list[Path]) -> dict[str, Any]:
    """Return the list of what a package contains. `files` are the packages that contain the same."""
    with zipfile.ZipFile(package) as archive:
        contents = {name.removeprefix("extension/"): archive.read(name) for name in archive.namelist()}
    components = sorted([*python(contents), *javascript(contents), *compiled(contents)], key=lambda one: one["bom-ref"])
    own = [one for one in components if one["name"] == "xla-lens"]
    version = json.loads((ROOT / "vscode-extension" / "package.json").read_text("utf-8"))["version"]
    subject = {
        "type": "application",
        "bom-ref": package.stem if package.suffix == ".vsix" else "xla-lens",
        "name": "xla-lens",
        "version": version,
        "licenses": [{"expression": "Apache-2.0"}],
        "components": [
            {"type": "file", "name": file.name, "hashes": [{"alg": "SHA-256", "content": digest(file)}]}
            for file in files
        ],
    }
    others = [one for one in components if one not in own]
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.UTC)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # The same packages give the same number.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest(package))}",
        "version": 1,
        "metadata": {"timestamp": f"{time:%Y-%m-%dT%H:%M:%SZ}", "component": subject},
        "components": others,
        "dependencies": [{"ref": subject["bom-ref"], "dependsOn": [one["bom-ref"] for one in others]}],
    }


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def python(contents: dict[str, bytes]) -> list[dict[str, Any]]:
    """Return the Python libraries in a package, by their metadata."""
    found = [data for name, data in contents.items() if name.endswith(".dist-info/METADATA")]
    described = [email.message_from_bytes(data) for data in found]
    return [component("pypi", one["Name"], one["Version"], _license(one)) for one in described]


def _license(metadata: Any) -> str:
    """Return the license in the terms of SPDX, or nothing. Older metadata has it only among the classifiers."""
    classifiers = " ".join(one for one in metadata.get_all("Classifier", []) if one.startswith("License :: "))
    known = re.search(r"(?:OSI Approved ::|^License ::) (\S+) License$", classifiers)
    return metadata["License-Expression"] or (known[1] if known else "")


def javascript(contents: dict[str, bytes]) -> list[dict[str, Any]]:
    """Return the libraries in the bundled JavaScript of a package, by their notices."""
    lock = json.loads((ROOT / "vscode-extension" / "package-lock.json").read_text("utf-8"))["packages"]
    names: set[str] = set()
    for path, data in contents.items():
        if path.endswith("memory_map/page.js"):
            names |= set(_NOTICE.findall(data.decode().rpartition("/*!\n")[2]))
        elif path == "dist/ThirdPartyNotices.txt":
            names |= set(_NOTICE.findall(data.decode()))
    locked = {name: lock[f"node_modules/{name}"] for name in names if f"node_modules/{name}" in lock}
    return [component("npm", name, one["version"], one["license"]) for name, one in locked.items()]


def compiled(contents: dict[str, bytes]) -> list[dict[str, Any]]:
    """Return the libraries in the package that are neither Python nor JavaScript: tree-sitter's, and those of numpy."""
    names = list(contents)
    if "server/compiled.tar.xz" in contents:
        with tarfile.open(fileobj=io.BytesIO(contents["server/compiled.tar.xz"])) as archive:
            names += archive.getnames()
    libraries = {Path(name).name for name in names if re.search(r"(^|/)numpy(\.libs|/\.dylibs)/", name)}
    found: list[dict[str, Any]] = [{"type": "library", "bom-ref": name, "name": name} for name in libraries]
    if any(name.endswith("LICENSE.tree-sitter") for name in names):
        parsers = {"bom-ref": "tree-sitter", "name": "tree-sitter", "description": "code in the generated parsers"}
        found.append({"type": "library", **parsers, "licenses": [{"expression": "MIT"}]})
    return found


def component(kind: str, name: str, version: str, license_name: str) -> dict[str, Any]:
    """Return the description of a library in a registry."""
    purl = f"pkg:{kind}/{name.lower().replace('_', '-') if kind == 'pypi' else name.replace('@', '%40')}@{version}"
    licenses = {"licenses": [{"expression": license_name}]} if license_name else {}
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, **licenses, "purl": purl}


if __name__ == "__main__":
    main()
