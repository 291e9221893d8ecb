"""The document model of all texts, and its renderers: plain text, terminal, Markdown, HTML."""
