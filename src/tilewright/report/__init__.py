"""Pictures of what the compiler decided: terminal tables, SVG, HTML in one file, JSON.

Every renderer is a pure function from values to text. Nothing here looks at IR or plans anything;
what is drawn was decided, and proved, elsewhere.
"""
