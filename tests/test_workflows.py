"""GitHub's files: workflows that do little and are pinned, forms that GitHub can read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted(p for p in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if p.name != "config.yml")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(workflow: Any) -> list[Any]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_actions_are_pinned_to_a_commit_and_say_its_version(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert used
    assert [line for line in used if not re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_only_the_deployment_may_write_and_no_step_holds_credentials(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    may = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert may == ({"deploy": {"pages": "write", "id-token": "write"}} if path.name == "publish.yml" else {})
    assert "pull_request_target" not in workflow[True]  # YAML takes `on` for a truth value
    assert "secrets." not in path.read_text(encoding="utf-8")
    for step in steps(workflow):
        if "actions/checkout" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False
        assert "${{" not in step.get("run", "")  # what a contributor names a branch is no shell code
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_what_the_steps_run_exists(path: Path) -> None:
    commands = [line.split()[0] for step in steps(read(path)) for line in step.get("run", "").splitlines()]
    assert commands
    programs = {"ruff", "mypy", "measure", "pytest"}
    for command in commands:
        folder, name = command.rsplit("/", 1)
        assert name in programs if folder == ".venv/bin" else (ROOT / command).stat().st_mode & 0o111, command


def test_a_contribution_is_built_and_checked_without_measuring() -> None:
    (check,) = [read(path) for path in WORKFLOWS if path.name == "check.yml"]
    run = "\n".join(step.get("run", "") for step in steps(check))
    for wanted in ("scripts/setup test", "measure check", "scripts/build", '-m "not live"'):
        assert wanted in run
    assert "--live" not in run
    assert "MEASURE=fresh" not in run


@pytest.mark.parametrize("path", FORMS, ids=lambda p: p.name)
def test_a_form_has_what_github_asks_for(path: Path) -> None:
    form = read(path)
    assert {"name", "description", "body"} <= form.keys()
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids))
    for field in form["body"]:
        assert field["type"] in {"input", "textarea"}
        assert field["attributes"]["label"]
    assert any(field.get("validations", {}).get("required") for field in form["body"])
