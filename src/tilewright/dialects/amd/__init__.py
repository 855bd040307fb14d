"""The ``amd`` dialect: what only AMD's machine does, and the chips that do it."""
