"""The versions of the report that were built here: their order, and the page that lists them."""

import json

from tierwise.analysis.runs import REFERENCE, find_run
from tierwise.core import paths
from tierwise.core.errors import InputError, suggesting
from tierwise.core.files import replacing, write_whole
from tierwise.report.changes import Changes, compare
from tierwise.report.facts import Facts, load_facts
from tierwise.report.site import LATEST, ORDER, QUARTO, names
from tierwise.report.text_template import fill


def before(version: str) -> Facts | None:
    """Return the facts of the version built before `version`; `None` where there is none. The same by the other engine is none."""
    known = names()
    earlier = [name for name in known[: known.index(version)] if name.removesuffix(QUARTO) != version.removesuffix(QUARTO)]
    return load_facts(paths.site() / earlier[-1]) if earlier else None


def put_last(version: str) -> None:
    """Let `version`, whose folder is in place, be ``latest``, and list it."""
    order = names()
    write_whole(paths.site() / ORDER, json.dumps([*order, *([] if version in order else [version])], indent=1) + "\n")
    with replacing(paths.site() / LATEST) as part:
        part.unlink()  # a link takes the empty file's place
        part.symlink_to(version)
    write_whole(paths.site() / "index.html", fill("versions.html", versions=[_item(name) for name in reversed(names())]))


def find(name: str) -> Facts:
    """Return the facts of the one version whose name contains `name`, of ``latest``, or of the last one of the ``reference`` run."""
    known = names()
    wanted = str((paths.site() / LATEST).readlink()) if name == LATEST and known else name
    if name == REFERENCE:
        shipped = find_run(REFERENCE).name
        wanted = next((version for version in reversed(known) if load_facts(paths.site() / version).run_id == shipped), name)
    found = [version for version in known if version == wanted] or [version for version in known if wanted in version]
    if len(found) != 1:
        rule = f"names {'several versions' if found else 'no version'}; there are: {', '.join(found or known) or 'none'}"
        raise InputError("version", value=name, rule=rule, remedy=suggesting(name, [LATEST, *known], "make report builds one"))
    return load_facts(paths.site() / found[0])


def differing(one: str, other: str) -> Changes:
    return compare(find(one), find(other))


def _item(version: str) -> dict[str, str]:
    facts = load_facts(paths.site() / version)
    earlier = before(version)
    changed = {} if earlier is None else {kind: len(found) for kind, found in compare(earlier, facts).effects.items() if found}
    counts = ", ".join(f"{number} {kind.removesuffix('s') if number == 1 else kind}" for kind, number in changed.items()) or "nothing"
    since = "the first" if earlier is None else f"since the one before it differ: {counts}"
    whose = "reference run" if (paths.reference() / facts.run_id).is_dir() else "run"
    return {"version": version, "whose": whose, "run": facts.run_id, "since": since}
