(comment) @comment
(root) @keyword
(opcode) @function
(primitive_type) @type
(dimension) @number
(integer) @number
(name) @variable
(instruction
  name: (name) @variable.definition)
(key) @property
(string) @string
(word) @constant

[
  "T"
  "S"
  "E"
  "L"
  "SC"
  "M"
  "P"
  "D"
] @attribute

"metadata" @property

[
  "("
  ")"
  "["
  "]"
  "{"
  "}"
] @punctuation.bracket

[
  ","
  ":"
  "="
  "<="
  "?"
  "*"
] @punctuation.delimiter
