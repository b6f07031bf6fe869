#!/bin/sh
# Installs the client of another language that the tests in this folder ask with, where it is missing: boto3, as
# Debian has it. Without it these tests fail, each with the reason.
set -eu
/usr/bin/python3 -c 'import boto3' 2>/dev/null && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends python3-boto3
