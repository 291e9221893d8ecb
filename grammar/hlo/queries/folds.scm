[
  (computation)
  (file_names)
  (function_names)
  (file_locations)
  (stack_frames)
] @fold
