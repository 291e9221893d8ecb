(module_header
  name: (name) @name) @definition.module

(computation
  name: (name) @name) @definition.function

(instruction
  name: (name) @name) @definition.variable

(parameter
  name: (name) @name) @reference.variable

(operand
  name: (name) @name) @reference.variable

(attribute
  name: (key) @_key
  value: (attribute_value
    [
      (name) @name
      (block
        (name) @name)
    ])
  (#not-eq? @_key "control-predecessors")) @reference.call
