"""Reports as text, Markdown and JSON: `outline` has the parts and their order, `data` the JSON."""
