"""Studio: one page about a script and its kernels, with everything linked to the source lines.

`document` is what the page shows, as values; `stages` makes lines of IR and of generated code that
know their source lines; `page` renders it all into one file.
"""
