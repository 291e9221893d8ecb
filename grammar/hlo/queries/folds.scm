[
  (operands)
  (block)
  (metadata)
] @fold
