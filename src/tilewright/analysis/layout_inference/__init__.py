"""Which thread holds which element, how shared buffers are swizzled, who runs which iteration.

`solve` looks at one kernel and returns a `LayoutPlan`; it changes nothing. All sizes are known
numbers, so layouts are tables (`table`), and every question about them is answered by looking at
all elements. Where code needs a formula, `fit` finds it in the table.
"""
