#!/bin/sh
# Installs the S3 store that s3.slow.test.ts starts, where it is missing. Without it those tests are
# skipped, each with the reason.
set -eu
missing=
for package in swift-proxy swift-account swift-container swift-object; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing
