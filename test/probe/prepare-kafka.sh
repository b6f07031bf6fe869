#!/bin/sh
# Installs what the tests of Kafka make their brokers of, where it is missing: librdkafka, whose mock
# cluster speaks the protocol, a compiler, and openssl for certificates.
set -eu
command -v gcc >/dev/null && command -v openssl >/dev/null && [ -e /usr/include/librdkafka/rdkafka_mock.h ] && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends gcc libc6-dev librdkafka-dev openssl
