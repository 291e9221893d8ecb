; Generated from lines.py by generate.py. Do not edit.

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
  "The rest"
] @keyword

[
  "(peak):"
] @keyword

[
  "(max"
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

[
  "(none)"
] @constant.builtin

[
  (kind)
  (phi)
] @attribute

[
  (unknown_attribute)
  (unknown_line)
] @comment.error

[
  (unavailable)
  (columns)
  (rule)
] @comment

[
  (integer)
  (grouped_integer)
  (human_size)
  (percent)
  (address)
  (index)
] @number

[
  (value_id)
  (step)
] @label

[
  (allocation_index)
] @label

[
  (name)
] @variable

(use name: (name) @function.call)

(scheduled_instruction name: (name) @function)

[
  (frame_name)
] @string

[
  (space_name)
] @module

[
  (filename)
] @string.special.path

[
  (shape)
  (shapes)
] @type

[
  (branch)
] @punctuation.special

(message name: (name) @property)

(field name: (name) @property)

(field value: (scalar) @string)

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
