"""Kernel functions: how one is made from Python source, and how one calls another."""
