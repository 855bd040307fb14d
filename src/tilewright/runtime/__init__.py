"""Artefact to result: compile a kernel for its arguments, launch it, choose its configuration."""
