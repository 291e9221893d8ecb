"""Starts XLA Lens from the libraries beside this file, without packages of the Python that runs it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "libraries"))

from xla_lens.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
