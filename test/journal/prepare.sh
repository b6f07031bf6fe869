#!/bin/sh
# Installs what the tests in this folder trouble a process with, where it is missing: a compiler for the
# shim, and strace. Without them these tests are skipped, each with the reason.
set -eu
command -v gcc >/dev/null && command -v strace >/dev/null && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends gcc libc6-dev strace
