"""Machine code for NVIDIA and AMD GPUs, made by the Triton that is installed.

compile     a module of ours -> Artefact: every stage's text, the machine code, what a launch must
            know
adapter     the one file that imports Triton, and the table of what its releases differ in
cache       artefacts on disk
metadata    what a launch needs; imports nothing
"""
