"""Counts atomically in bytes."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def count(bins_ptr, counts_ptr):
    bins = tl.load(bins_ptr + tl.arange(0, 64))
    tl.atomic_add(counts_ptr + bins, 1)


def wrong(bins):
    counts = np.zeros(5, np.int8)
    count[(1,)](bins, counts)
    return counts


def fixed(bins):
    counts = np.zeros(5, np.int32)
    count[(1,)](bins, counts)
    return counts


def launch(run):
    bins = np.arange(64, dtype=np.int32) % 5
    return run(bins), np.bincount(bins)
