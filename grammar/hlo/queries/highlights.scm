(comment) @comment
[
  (root)
  (entry)
  "HloModule"
  "FileNames"
  "FunctionNames"
  "FileLocations"
  "StackFrames"
] @keyword
(opcode) @function.builtin
; In a module these are leaves.
(array_shape) @type
(literal) @constant
(attribute_value) @constant
(primitive_type) @type
(dimension) @number
(integer) @number
(name) @variable
(parameter
  name: (name) @variable.parameter)
(computation
  name: (name) @function)
(attribute
  value: (attribute_value
    (name) @function.call))
(module_header
  name: (name) @module)
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

[
  "metadata"
  "file_name_id"
  "function_name_id"
  "line"
  "end_line"
  "column"
  "end_column"
  "file_location_id"
  "parent_frame_id"
] @property

[
  "("
  "b("
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
  "#"
  "->"
] @punctuation.delimiter
