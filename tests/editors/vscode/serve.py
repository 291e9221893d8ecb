"""Opens VS Code with the extension and a folder of dumps: `make vscode [SAMPLE=FOLDER]`.

Installs the extension into the `code` on the PATH. Without one, serves VS Code on loopback with a new profile, and
prints the URL for a browser.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from editors.vscode.server import VSIX, VSCode, some_dumps


def main() -> None:
    """Run until Ctrl+C."""
    given = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    if given and not given.is_dir():
        sys.exit(f"{given}: no such folder")
    code = shutil.which("code")
    if code:
        folder = given or some_dumps(Path(tempfile.mkdtemp(prefix="xla-lens-")))
        subprocess.run([code, "--install-extension", VSIX, "--force"], check=True)
        subprocess.run([code, folder, *_first(folder)], check=True)
        return
    with tempfile.TemporaryDirectory(prefix="xla-lens-") as name:
        folder = given or some_dumps(Path(name) / "dumps")
        server = VSCode(Path(name) / "vscode", {"PATH": os.environ["PATH"]})
        server.install(VSIX)
        # Signals unwind the context managers, so that no process of the server is left.
        for ending in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(ending, signal.default_int_handler)
        with server.running("--disable-workspace-trust"):
            files = [["openFile", f"vscode-remote://{server.address}{quote(str(path))}"] for path in _first(folder)]
            query = f"folder={quote(str(folder))}&payload={quote(json.dumps(files))}"
            print(f"VS Code is at http://{server.address}/?{query} (Ctrl+C to stop)", flush=True)
            try:
                signal.pause()
            except KeyboardInterrupt:
                print()


def _first(folder: Path) -> list[Path]:
    """Return the file of a folder to open first, if there is one."""
    return sorted(folder.rglob("*-live-range.txt"))[:1]


if __name__ == "__main__":
    main()
