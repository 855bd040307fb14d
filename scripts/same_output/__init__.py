"""What the compiler makes of many kernels, as digests that two trees can be compared by.

A *case* is an input with the way it takes, `tile/gemm@sm_90a` or `fuzz-tile/17`. It has *stages* in
the order in which they are made: the IR after every pass, NumPy and CUDA source, TTGIR, memory
plans, diagnostics. A stage has *parts*, each a text with its digest:

    code        what must not change
    comments    comments and docstrings of generated source
    messages    the wording of diagnostics, their notes, sentences in IR and plans

A refactor must leave `code` equal. Changes of the other two are counted and fail only on request
(`--strict`). The `code` of diagnostics is severity, code and location of each; a location is the
text of its source line, so that lines may move.

    text        takes texts apart, renames
    stages      collects the stages of one case
    subjects    lists the cases
    tile_cases, tl_cases, file_cases, mistake_cases    run them
    recording   runs many, and the file they are written to
    comparing   two recordings, and what differs
    command     the command line
"""
