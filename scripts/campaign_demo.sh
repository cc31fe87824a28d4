#!/bin/sh
# Runs a campaign on this machine's loopback address: an S3 server, a scheduler, three workers, and a report of the profile smoke.
# A budget (BUDGET, default what is left of 13 minutes) ends it within 15 minutes. Without Go, which builds the S3 server, a folder is the store.
# What the script starts ends with it; rows and report stay as after `make report`.
#
# usage, from the checkout: sh scripts/campaign_demo.sh ENVIRONMENT
set -eu

began_s=$(date +%s)
bin=$PWD/$1/bin
folder=$(mktemp -d /var/tmp/tierwise-demo-XXXXXX)
chmod 755 "$folder" # the server's account must pass
started=

stop() {
    trap - EXIT INT TERM
    for process in $started; do kill "$process" 2>/dev/null || true; done
    wait
    rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT TERM

start() { # start NAME COMMAND...: the output goes to NAME.log
    log=$folder/$1.log
    shift
    "$@" >"$log" 2>&1 &
    started="$! $started"
}

free_port() { "$bin/python" -c 'import socket; one = socket.socket(); one.bind(("127.0.0.1", 0)); print(one.getsockname()[1])'; }

random() { "$bin/python" -c 'import secrets; print(secrets.token_hex(16))'; }

if server=$(sh scripts/build_s3_server.sh); then
    mkdir -p "$folder/objects/tierwise" "$folder/attributes"
    AWS_ACCESS_KEY_ID=$(random) AWS_SECRET_ACCESS_KEY=$(random) AWS_ENDPOINT_URL=http://127.0.0.1:$(free_port)
    export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_ENDPOINT_URL AWS_EC2_METADATA_DISABLED=true
    export ROOT_ACCESS_KEY="$AWS_ACCESS_KEY_ID" ROOT_SECRET_KEY="$AWS_SECRET_ACCESS_KEY" # not arguments, which others can read
    start s3 "$server" --quiet --port "${AWS_ENDPOINT_URL#http://}" posix --sidecar "$folder/attributes" "$folder/objects"
    store=s3://tierwise/demo
else
    store=$folder/store
    echo "campaign-demo: without an S3 server, a folder is the store"
fi

address=tcp://127.0.0.1:$(free_port)
export DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING=False DASK_LOGGING__DISTRIBUTED=error
start scheduler "$bin/python" -m distributed.cli.dask_scheduler --host 127.0.0.1 --port "${address##*:}" \
    --no-dashboard --dashboard-address 127.0.0.1:0
for number in 1 2 3; do
    start "worker$number" env TIERWISE_WORK="$folder/work$number" SCHEDULER= STORE= "$bin/tierwise" worker --scheduler "$address"
done
echo "campaign-demo: the store is $store, the scheduler is $address"
FRESH=1 TIERWISE_WORK=$folder/work "$bin/tierwise" report --yes --scheduler "$address" --store "$store" --budget "${BUDGET:-$((780 - $(date +%s) + began_s))s}"
