"""Checks of kernels against the vendor's API: its real headers, and a table of argument roles.

`vendor_headers` parses a kernel against the headers of a tenstorrent/tt-metal checkout;
`signatures` is the stored table of names and arities for hosts without one; `call_roles` checks
which argument is meant where, which no compiler sees.
"""
