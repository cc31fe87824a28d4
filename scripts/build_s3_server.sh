#!/bin/sh
# Builds the S3 server of tests and of `make campaign-demo` where Go is, once a machine, and prints its path; it takes four minutes of
# processor time. Without Go it says so and fails.
set -eu

version=v1.8.0
folder=/var/tmp/tierwise-versitygw-$version-$(id -u)

if [ ! -x "$folder/versitygw" ]; then
    command -v go >/dev/null || { echo "no Go here to build the S3 server versitygw" >&2; exit 1; }
    GOBIN=$folder go install "github.com/versity/versitygw/cmd/versitygw@$version" >&2
fi
echo "$folder/versitygw"
