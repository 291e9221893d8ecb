(allocation
  header: (allocation_header
    index: (allocation_index) @name)) @definition.module

(used_value
  value: (value
    name: (name) @name)) @definition.variable

(scheduled_instruction
  name: (name) @name) @definition.function

(slice
  value: (value
    name: (name) @name)) @reference.variable

(position
  name: (name) @name) @reference.variable

(live_range
  name: (name) @name) @reference.variable

(peak_buffer
  name: (name) @name) @reference.variable

(use
  name: (name) @name) @reference.call
