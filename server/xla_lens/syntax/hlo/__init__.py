"""HLO text: whole modules, single instructions and shapes."""
