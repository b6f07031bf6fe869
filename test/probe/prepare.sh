#!/bin/sh
# Installs what the tests of the sandbox build it with, where it is missing: bubblewrap. Without it these
# tests fail.
set -eu
command -v bwrap >/dev/null && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends bubblewrap
