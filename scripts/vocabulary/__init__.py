"""The project's words: what names, messages, docstrings, comments and docs say, and what not."""
