((instruction) @injection.content
  (#set! injection.language "hlo"))

((shape) @injection.content
  (#set! injection.language "hlo"))
