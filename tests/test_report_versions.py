"""Versions of the report: their order, their list, and what names one."""

import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from typer.testing import CliRunner

from report_built import Built, placed
from report_run import RUN_ID
from tierwise.cli import app
from tierwise.core.errors import InputError
from tierwise.report import pandoc_engine, versions
from tierwise.report.render import render
from tierwise.report.site import ORDER

EARLIER = versions.Version(version=f"2000-01-01-v0-{RUN_ID}", run_id=RUN_ID)


@pytest.fixture(scope="module")
def second(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("versions") / "_site"
    (site / EARLIER.version).mkdir(parents=True)
    EARLIER.save(site / EARLIER.version)
    (site / ORDER).write_text(json.dumps([EARLIER.version]), encoding="utf-8")
    with placed(built.root, site), pytest.MonkeyPatch.context() as patch:
        patch.setattr(pandoc_engine, "_typeset", lambda *_: None)
        return render(run_id=RUN_ID, executed=built.executed, engine="plain")


def test_versions_are_listed_and_named_by_any_part_that_is_their_own(built: Built, second: Path) -> None:
    listed = BeautifulSoup((second.parent / "index.html").read_bytes(), "html.parser").select("li")
    assert [one.get_text() for one in listed] == [f"{version}run {RUN_ID}" for version in (second.name, EARLIER.version)]
    with placed(built.root, second.parent):
        assert versions.find("2000") == versions.find("v0") == EARLIER
        assert versions.find("latest").version == second.name
        with pytest.raises(InputError, match="no version; there are"):
            versions.find("reference")  # none was built of the run that ships
        with pytest.raises(InputError, match="several versions"):
            versions.find(RUN_ID)
        with pytest.raises(InputError, match="no version; there are: 2000-01-01"):
            versions.find("nonesuch")
        said = json.loads(CliRunner().invoke(app, ["diff", "reference", "2000", "--format", "json"]).stdout)
        same = CliRunner().invoke(app, ["diff", "2000", "latest"]).exception
    assert said["run"] == RUN_ID
    assert "cannot be compared with itself" in str(same)
