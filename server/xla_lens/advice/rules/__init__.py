"""The rules, one module each. `xla_lens.advice.advise.RULES` lists them."""
