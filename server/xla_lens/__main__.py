"""`python -m xla_lens` is `xla-lens`."""

from xla_lens.cli.main import run

if __name__ == "__main__":
    run()
