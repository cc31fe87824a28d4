#!/bin/sh
# Says for which Pythons and processors there is a wheel of every pin, by resolving them; nothing is installed. Needs uv and the network.
#
# usage, from the checkout: sh scripts/resolve_wheels.sh      (UV=... names the program; docs/platforms.md has the result)
set -eu

lacking=0
pins=$(mktemp)
trap 'rm -f "$pins"' EXIT
for python in 3.11 3.12 3.13 3.14; do
    for processor in x86_64 aarch64; do
        if said=$("${UV:-uv}" pip compile --quiet --python-version "$python" --python-platform "$processor-manylinux_2_28" \
            --only-binary :all: --generate-hashes --no-header --no-annotate requirements.txt --output-file "$pins" 2>&1); then
            echo "Python $python, $processor: resolved, $(grep -c == "$pins") wheels"
        else
            echo "Python $python, $processor: $said"
            lacking=1
        fi
    done
done
exit $lacking
