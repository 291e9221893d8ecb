; Headers of sections and lists.
[
  "BufferAssignment:"
  "Used values:"
  "HloLiveRange"
  "InstructionSequence:"
  "BufferLiveRange:"
  "Live ranges at"
  "Stack trace breakdown for peak usage:"
  "Total bytes used:"
  "Total bytes:"
  "Memory Space:"
  "Allocations sorted by size:"
  "Allocations sorted by size with their values:"
  "*** Begin"
  "*** End"
  "***"
] @markup.heading

[
  "allocation"
  "value:"
  "positions:"
  "uses:"
  "from instruction:"
  "reused by buffers of a different color:"
  "(peak):"
  "(max"
  "The rest"
] @keyword

[
  "size"
  "color"
  "page"
  "parameter"
  "shape"
  "at ShapeIndex"
  "output shape is"
  "(size="
  ",offset="
  "(color="
  ", operand"
  "(cumulative:"
  "total:"
  "current:"
  "remaining:"
  "bytes"
] @property

"(none)" @constant.builtin
(kind) @attribute
(phi) @attribute
(unknown_attribute) @comment.error
(unknown_line) @comment.error
(unavailable) @comment
(columns) @comment
(rule) @comment

[
  (integer)
  (grouped_integer)
  (human_size)
  (percent)
] @number

(address) @number
(index) @number
(value_id) @label
(allocation_index) @label
(step) @label

(name) @variable
(use
  name: (name) @function.call)
(scheduled_instruction
  name: (name) @function)
(frame_name) @string
(space_name) @module
(filename) @string.special.path

(shape) @type
(shapes) @type
(branch) @punctuation.special
(message
  name: (name) @property)
(field
  name: (name) @property
  value: (scalar) @string)

[
  "<"
  ">"
  "@"
  "|"
  ":"
  ";"
  ","
  "-"
  "("
  ")"
  "):"
  "{"
  "}"
  "%"
  "%)"
] @punctuation.delimiter
