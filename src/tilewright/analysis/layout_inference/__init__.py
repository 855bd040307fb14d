"""Layouts of fragments, swizzles of shared buffers, and the threads of loop iterations.

`solve` looks at one kernel and returns a `LayoutPlan`; it changes nothing. All sizes are constants,
so layouts are tables (`table`), and every property of them is decided by looking at all elements.
Where code needs a formula, `fit` finds it in the table.
"""
