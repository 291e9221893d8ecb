"""Starts XLA Lens from the libraries beside this file: the packages of the machine's Python are not looked at."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "libraries"))

from xla_lens.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
