; A backend configuration is JSON, unless it is printed as an escaped string.
(attribute
  name: (key) @_key
  value: (attribute_value
    (block) @injection.content)
  (#eq? @_key "backend_config")
  (#set! injection.language "json")
  (#set! injection.include-children))
