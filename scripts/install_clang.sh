#!/usr/bin/env bash
# Installs clang-19 and lld-19, which compile HIP kernels to code objects, where that is possible
# without asking: on Debian and its kin, as root. Everywhere else it says so and leaves the machine
# alone; the tests that need them then skip with a reason. Never fails, so that it can stand before
# a test run.
set -u

if command -v clang-19 >/dev/null 2>&1 && command -v ld.lld-19 >/dev/null 2>&1; then
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" -ne 0 ]; then
    echo "no clang-19 and lld-19 here, and no root on a Debian to install them: tests of HIP code objects will be skipped" >&2
    exit 0
fi
echo "installing clang-19 and lld-19"
export DEBIAN_FRONTEND=noninteractive
install="timeout 900 apt-get install -qq -y --no-install-recommends clang-19 lld-19"
if ! $install >/dev/null 2>&1; then
    # An old package list names versions that are gone.
    { timeout 300 apt-get update -qq && $install; } >/dev/null 2>&1 ||
        echo "clang-19 and lld-19 could not be installed: tests of HIP code objects will be skipped" >&2
fi
exit 0
