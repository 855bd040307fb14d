"""The documentation as a site: `make docs` builds `build/site` with MkDocs, without a network.

The pages are the files of `docs/`, in the order of `mkdocs.yml`. Two kinds of pages are made while
the site is built and exist nowhere else:

    reference    what `tilewright`, `tl`, `tlx` and `T` offer, from signatures and docstrings
    outside      files of the repository that pages link to: CONTRIBUTING.md, examples

`hooks` is what MkDocs calls.
"""
