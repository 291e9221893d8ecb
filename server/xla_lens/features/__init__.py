"""The answers to requests about a place or a dump set, as plain data in byte offsets. `xla_lens.render` words them."""
