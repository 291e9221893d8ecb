"""What is told about a place or a set: plain data, in byte offsets."""
