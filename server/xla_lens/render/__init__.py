"""Plain data as people read it: Markdown and text."""
