#!/usr/bin/env bash
# Installs Chromium for the test that opens the HTML memory map, where that is possible without
# asking: on Debian and its kin, as root. Everywhere else it says so and leaves the machine alone;
# the test then skips with a reason. Never fails, so that it can stand before a test run.
set -u

if command -v chromium >/dev/null 2>&1; then
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" -ne 0 ]; then
    echo "no chromium here, and no root on a Debian to install it: its tests will be skipped" >&2
    exit 0
fi
echo "installing chromium"
export DEBIAN_FRONTEND=noninteractive
install="timeout 600 apt-get install -qq -y --no-install-recommends chromium"
if ! $install >/dev/null 2>&1; then
    # An old package list names versions that are gone.
    { timeout 300 apt-get update -qq && $install; } >/dev/null 2>&1 ||
        echo "chromium could not be installed: its tests will be skipped" >&2
fi
exit 0
