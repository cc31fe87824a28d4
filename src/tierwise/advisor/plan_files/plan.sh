#!/bin/sh
# {{ title }}
# tierwise never runs this file. Read it and plan.sql, then run it on the server's host: sh plan.sh
# To move everything back: sh plan.sh rollback. If it stops, mend what it names, and run it again: it goes on where it stopped.
# It connects as psql does: set PGHOST, PGPORT, PGUSER and PGPASSFILE. It needs psql, df, findmnt and lsblk. Variables:
#   DIRECTORIES=yes  each standby and restored archive has the directories of the tablespaces [default: no]
#   REPACK=PROGRAM   program pg_repack, which moves tables without a long lock; no: lock the tables instead [default: pg_repack]
#   LOCK_S=2         seconds to wait for a lock; TRIES=10 and PAUSE_S=5: how often to try again, and after how many seconds
#   OLD_S=600        seconds to wait for older transactions before an index is rebuilt
set -eu
cd "$(dirname "$0")"
export PGDATABASE={{ quoted(database) }}
journal=journal.txt
direction=${1:-plan}
case $direction in plan | rollback) ;; *) echo "plan.sh: unknown word: $direction; give rollback or nothing" >&2; exit 2 ;; esac
errors=$(mktemp) said=$(mktemp)
running=
trap 'rm -f "$errors" "$said"' EXIT
trap '[ -z "$running" ] || kill -INT "$running" 2>/dev/null || true; exit 130' INT TERM

stop() {
    echo "plan.sh: $*" >&2
    exit 1
}

note() {
    echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) $*" >>"$journal"
    sync "$journal" 2>/dev/null || sync
}

query() {
    PGOPTIONS="${PGOPTIONS:-} -c search_path=pg_catalog" psql -X -A -t -q -v ON_ERROR_STOP=1 "$@"
}

# Name that a rebuild is about to give to the new index of $relation: PostgreSQL takes the first that is free.
expected() {
    query -v relation="$relation" <<'SQL'
SELECT base || label
FROM pg_class AS c
CROSS JOIN LATERAL (SELECT pass, '_ccnew' || coalesce(nullif(pass, 0)::text, '') AS label FROM generate_series(0, 99) AS pass) AS labels
CROSS JOIN LATERAL (SELECT left(c.relname, n) AS base FROM generate_series(1, 63) AS n
                    WHERE octet_length(left(c.relname, n) || label) < 64 ORDER BY n DESC LIMIT 1) AS bases
WHERE c.oid = :'relation'::regclass
  AND NOT EXISTS (SELECT FROM pg_class AS o WHERE o.relnamespace = c.relnamespace AND o.relname = base || label)
ORDER BY pass LIMIT 1;
SQL
}

# Drop indexes that a broken run of this plan left invalid and the journal lists: the old one by its number, the new one by the name that
# a rebuild of $relation was about to give. Only if no run and no build is at work.
clear_indexes() {
    [ -e "$journal" ] || return 0
    old=$(awk '$2 == "index" { print $4 }' "$journal" | sort -u | paste -s -d , -)
    listed=$(awk -v step="$direction-$number" '$3 != step { next } $2 == "done" { name = "" }
        $2 == "expects" { sub(/^[^ ]+ [^ ]+ [^ ]+ /, ""); name = $0 } END { print name }' "$journal")
    query -v old="$old" -v listed="$listed" -v relation="$relation" <<'SQL'
SELECT format('DROP INDEX CONCURRENTLY %I.%I', n.nspname, c.relname)
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE NOT i.indisvalid AND c.relname ~ '_cc(new|old)[0-9]*$'
  AND (c.oid = ANY (string_to_array(nullif(:'old', ''), ',')::oid[])
    OR c.relname = :'listed' AND i.indrelid = (SELECT indrelid FROM pg_index WHERE indexrelid = :'relation'::regclass))
  AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index AS p WHERE p.index_relid = c.oid)
  AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'tierwise plan' AND datname = current_database())
\gexec
SQL
}

# What psql does in step $1; the file $said tells how long its move took.
sql() {
    psql -X -q -v VERBOSITY=verbose -v step="$1" -v directories="${DIRECTORIES:-no}" -v lock_s="${LOCK_S:-2}" -v old_s="${OLD_S:-600}" \
        -f "$direction.sql" >"$said" 2>"$errors" &
    running=$!
    status=0
    wait "$running" || status=$?
    running=
    grep -v '^LOCATION:' "$errors" | sed 's/^psql:[^ ]* *//' >&2 || true
    return "$status"
}

facts() {
    query -v relation="$relation" -v target="$target" <<'SQL'
SELECT coalesce(nullif(c.reltablespace, 0), d.dattablespace) = t.oid, pg_table_size(c.oid), c.oid,
       current_setting('is_superuser')::boolean AND EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisprimary),
       coalesce((SELECT extversion FROM pg_extension WHERE extname = 'pg_repack'), 'none'),
       coalesce(nullif(pg_tablespace_location(t.oid), ''), (SELECT setting FROM pg_settings WHERE name = 'data_directory'))
FROM pg_class AS c JOIN pg_database AS d ON d.datname = current_database() JOIN pg_tablespace AS t ON t.spcname = :'target'
WHERE c.oid = :'relation'::regclass;
SQL
}

look() {
    found=$(facts)
    IFS='|' read -r there bytes oid repackable extension directory <<END
$found
END
}

# The folder $1 must have the bytes $2, and a tenth more, for $3.
check_space() {
    [ -n "$1" ] || return 0 # the data directory, which this role must not see
    [ -d "$1" ] || stop "$1 is not on this host: run plan.sh on the server's host"
    free=$(df -Pk "$1" | awk 'NR == 2 { print $4 }')
    needed=$(($2 * 11 / 10240 + 1)) # not by awk, which may count to 2 TiB only
    [ "$free" -gt "$needed" ] || stop "step $number: $1 has $free KiB free, and $3 needs $needed KiB: free space there"
}

# pg_repack builds the indexes of $relation again where they lie.
check_indexes() {
    query -v relation="$relation" >"$errors" <<'SQL'
SELECT sum(pg_relation_size(c.oid)), coalesce(nullif(pg_tablespace_location(t.oid), ''), current_setting('data_directory'))
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_database AS d ON d.datname = current_database()
JOIN pg_tablespace AS t ON t.oid = coalesce(nullif(c.reltablespace, 0), d.dattablespace)
WHERE i.indrelid = :'relation'::regclass GROUP BY 2;
SQL
    while IFS='|' read -r size place; do
        check_space "$place" "$size" "a rebuild of the indexes of $relation (REPACK=no does without)"
    done <"$errors"
}

# The place must have the relation's size $1 times, and must not be ephemeral.
check_place() {
    check_space "$directory" "$((bytes * $1))" "$relation"
    [ "$direction" = plan ] && [ -n "$directory" ] || return 0
    system=$(findmnt -n -o FSTYPE --target "$directory")
    source=$(findmnt -n -o SOURCE --target "$directory")
    disks=$(lsblk -s -n -l -o NAME,MODEL "${source%%\[*}" 2>/dev/null | tr -s ' \n' ' ' || true)
    azure=$(basename "$(realpath /dev/disk/azure/resource 2>/dev/null || echo none)")
    case "$system $disks" in
    tmpfs* | ramfs* | *"Instance Storage"* | *EphemeralDisk* | *"NVMe Direct Disk"* | *"nvme_card "* | *nvme_card[0-9]* | *"$azure"*)
        stop "step $number: $directory lies on an ephemeral disk ($system $disks), whose content is lost when the machine stops: use a lasting disk" ;;
    esac
}

# pg_repack, where the table has a key, the role is a superuser, and program and extension have one version.
can_repack() {
    program=${REPACK:-pg_repack}
    [ "$program" != no ] && [ "$repackable" = t ] && [ "$extension" != none ] || return 1
    client=$("$program" --version 2>/dev/null | awk '{ print $2 }')
    [ "$client" = "$extension" ] && return 0
    echo "step $number: pg_repack is not used: the program has version ${client:-none}, the extension $extension"
    return 1
}

# Remove what a broken pg_repack left, if the journal says that this plan began it and no pg_repack is at work.
clear_repack() {
    awk -v oid="$oid" '$2 == "repack" && $3 == oid { open = 1 } $2 == "done" && $4 == oid { open = 0 } END { exit !open }' \
        "$journal" 2>/dev/null || return 0
    query -v oid="$oid" -v lock_s="${LOCK_S:-2}s" <<'SQL' >/dev/null
SELECT set_config('lock_timeout', :'lock_s', false);
SELECT format('SELECT repack.repack_drop(%s, 4)', :'oid')
FROM pg_trigger WHERE tgrelid = :oid AND tgname = 'repack_trigger'
  AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'pg_repack' AND datname = current_database())
\gexec
SQL
}

repack() {
    note repack "$oid"
    "$program" --no-order --no-kill-backend --wait-timeout="${OLD_S:-600}" --table="$relation" --tablespace="$target" >"$errors" 2>&1 || true
    look
    [ "$there" = t ] || { cat "$errors" >&2; clear_repack; return 1; }
}

step() {
    number=$1 kind=$2 relation=$3 target=$4
    look
    if [ "$kind" = index ]; then clear_indexes; else clear_repack; fi
    [ "$there" != t ] || { echo "step $number: $relation is in $target already"; return 0; }
    sql -1 || exit 1
    echo "step $number: moving $relation, $bytes bytes, to $target"
    before=$bytes tries=1 way=sql
    if [ "$kind" = table ] && can_repack; then way=repack; check_place 2; check_indexes; elif [ "$kind" = index ]; then check_place 2; else check_place 1; fi
    [ "$kind" != index ] || note expects "$direction-$number" "$(expected)"
    note begin "$direction-$number" "$oid" "$bytes"
    [ "$kind" != index ] || note index "$direction-$number" "$oid"
    began_s=$(date +%s)
    # A lock that was not free is tried again; what else fails stops the plan.
    until { [ $way = repack ] && repack; } || { [ $way = sql ] && sql "$number"; }; do
        [ $way = repack ] || grep -q 55P03 "$errors" || stop "step $number: $relation stays where it is"
        [ "$tries" -lt "${TRIES:-10}" ] || stop "step $number: $relation was in use $tries times: try at a quieter hour, or with TRIES=100"
        tries=$((tries + 1))
        sleep "${PAUSE_S:-5}"
    done
    took_s=$(($(date +%s) - began_s))
    [ $way = repack ] || took_s=$(sed -n 's/.* moved in \([0-9.]*\) s, .*/\1/p' "$said")
    [ "$kind" != index ] || clear_indexes
    look
    [ "$there" = t ] || stop "step $number: $relation is not in $target"
    note "done" "$direction-$number" "$oid" "$before" "$bytes"
    echo "step $number: $relation moved to $target in ${took_s:-0} s, at try $tries: $before bytes before, $bytes bytes now"
}

if [ "$direction" = plan ]; then
    :
{% for step in steps %}
    step {{ step.number }} {{ quoted(step.kind) }} {{ quoted(step.qualified) }} {{ quoted(step.target) }}
{% endfor %}
else
    :
{% for step in back %}
    step {{ step.number }} {{ quoted(step.kind) }} {{ quoted(step.qualified) }} {{ quoted(step.target) }}
{% endfor %}
fi
{% if steps | selectattr("newest") | list %}
sql -2 || stop "new partitions stay where they were: run this again"
{% endif %}
{% for line in by_hand %}
echo {{ quoted(line) }}
{% endfor %}
