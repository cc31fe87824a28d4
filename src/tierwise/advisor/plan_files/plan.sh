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
errors=$(mktemp)
running=
trap 'rm -f "$errors"' EXIT
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

# Half-built indexes that $relation's table has already, which a rebuild did not make that is still to begin.
others() {
    query -v relation="$relation" <<'SQL'
SELECT coalesce(string_agg(o.indexrelid::text, ','), '0') FROM pg_index AS i JOIN pg_index AS o USING (indrelid)
WHERE i.indexrelid = :'relation'::regclass AND NOT o.indisvalid;
SQL
}

# Drop indexes that a broken run of this plan left invalid: those that the journal lists, and new ones of $relation in $target since a
# rebuild began that the journal does not call done. Only if no such run is at work.
clear_indexes() {
    [ -e "$journal" ] || return 0
    made=$(awk '$2 == "index" { print $4 }' "$journal" | sort -u | paste -s -d , -)
    known=$(awk -v step="$direction-$number" '$3 == step && $2 == "others" { known = $4 } $3 == step && $2 == "done" { known = "" } END { print known }' "$journal")
    query -v made="$made" -v known="$known" -v relation="$relation" -v target="$target" <<'SQL'
SELECT format('DROP INDEX CONCURRENTLY %I.%I', n.nspname, c.relname)
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE NOT i.indisvalid AND c.relname ~ '_cc(new|old)[0-9]*$'
  AND (c.oid = ANY (string_to_array(nullif(:'made', ''), ',')::oid[])
    OR c.oid <> ALL (string_to_array(nullif(:'known', ''), ',')::oid[]) AND c.relname ~ '_ccnew[0-9]*$' AND EXISTS (
      SELECT FROM pg_index AS own JOIN pg_class AS o ON o.oid = own.indexrelid JOIN pg_database AS d ON d.datname = current_database()
      JOIN pg_tablespace AS t ON t.oid = coalesce(nullif(c.reltablespace, 0), d.dattablespace)
      CROSS JOIN regexp_replace(c.relname, '_ccnew[0-9]*$', '') AS base -- a long name is cut
      WHERE o.oid = :'relation'::regclass AND own.indrelid = i.indrelid AND t.spcname = :'target'
        AND (base = o.relname OR octet_length(base) > 50 AND starts_with(o.relname, base))))
  AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index AS p WHERE p.index_relid = c.oid)
  AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'tierwise plan' AND datname = current_database())
\gexec
SQL
}

# What psql does in step $1, beside which the numbers of half-built indexes go into the journal.
sql() {
    psql -X -q -v VERBOSITY=verbose -v step="$1" -v directories="${DIRECTORIES:-no}" -v lock_s="${LOCK_S:-2}" -v old_s="${OLD_S:-600}" \
        -f "$direction.sql" >/dev/null 2>"$errors" &
    running=$!
    found=
    while [ "${2:-}" = index ] && kill -0 "$running" 2>/dev/null; do
        built=$(query -v old="$oid" <<'SQL' || true
SELECT p.index_relid FROM pg_stat_progress_create_index AS p JOIN pg_stat_activity AS a USING (pid)
WHERE a.application_name = 'tierwise plan' AND p.datname = current_database() AND p.index_relid NOT IN (0, :old);
SQL
)
        [ -z "$built" ] || [ "$built" = "$found" ] || note index "$direction-$1" "$built"
        found=${built:-$found}
        sleep 0.2
    done
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

# The place must have the relation's size $1 times, and a tenth more.
check_place() {
    [ -n "$directory" ] || return 0 # the data directory, which this role must not see
    [ -d "$directory" ] || stop "$directory is not on this host: run plan.sh on the server's host"
    free=$(df -Pk "$directory" | awk 'NR == 2 { print $4 }')
    needed=$(awk -v bytes="$bytes" -v times="$1" 'BEGIN { printf "%d", bytes * times * 1.1 / 1024 + 1 }')
    [ "$free" -gt "$needed" ] || stop "step $number: $directory has $free KiB free, and $relation needs $needed KiB: free space there"
    [ "$direction" = plan ] || return 0
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
    began_s=$(date +%s)
    before=$bytes tries=1 way=sql
    if [ "$kind" = table ] && can_repack; then way=repack; check_place 2; else check_place 1; fi
    [ "$kind" != index ] || note others "$direction-$number" "$(others)"
    note begin "$direction-$number" "$oid" "$bytes"
    [ "$kind" != index ] || note index "$direction-$number" "$oid"
    # A lock that was not free is tried again; what else fails stops the plan.
    until { [ $way = repack ] && repack; } || { [ $way = sql ] && sql "$number" "$kind"; }; do
        [ $way = repack ] || grep -q 55P03 "$errors" || stop "step $number: $relation stays where it is"
        [ "$tries" -lt "${TRIES:-10}" ] || stop "step $number: $relation was in use $tries times: try at a quieter hour, or with TRIES=100"
        tries=$((tries + 1))
        sleep "${PAUSE_S:-5}"
    done
    [ "$kind" != index ] || clear_indexes
    look
    [ "$there" = t ] || stop "step $number: $relation is not in $target"
    note "done" "$direction-$number" "$oid" "$before" "$bytes"
    echo "step $number: $relation moved to $target in $(($(date +%s) - began_s)) s, at try $tries: $before bytes before, $bytes bytes now"
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
