"""`python -m xla_lens` is `xla-lens`."""

import sys

from xla_lens.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
