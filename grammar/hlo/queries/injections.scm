; The configuration of a backend is JSON, where it is printed as it is.
(attribute
  name: (key) @_key
  value: (attribute_value
    (block) @injection.content)
  (#eq? @_key "backend_config")
  (#set! injection.language "json")
  (#set! injection.include-children))
