"""Python source to IR: one rewriter, one builder and one protocol for values, for both languages.

A kernel is parsed, its control flow is rewritten into calls of `control`, and the rewritten
function is executed. Everything else in it stays ordinary Python: an addition calls ``__add__``,
``tl.load`` is a function, and each emits IR through the builder that is current while it runs.
A `Vocabulary` defines the few things in which the languages differ.
"""
