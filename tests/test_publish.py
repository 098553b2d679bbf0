"""The site changes whole or not at all, whatever moment a build is cut off at."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from measure import publish
from measure.publish import aside, recover, retired, swap_in


def write(folder: Path, text: str) -> None:
    folder.mkdir()
    (folder / "index.html").write_text(text, encoding="utf-8")


def read(site: Path) -> str:
    return (site / "index.html").read_text(encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    write(site, "old")
    write(aside(site), "new")
    return site


def alone(site: Path) -> bool:
    return [p.name for p in site.parent.iterdir()] == ["site"]


def test_first_site(tmp_path: Path) -> None:
    site = tmp_path / "site"
    write(aside(site), "new")
    swap_in(site)
    assert read(site) == "new"
    assert alone(site)


@pytest.mark.parametrize("exchange", [True, False])
def test_swap(site: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool) -> None:
    if not exchange:
        monkeypatch.setattr(publish, "exchange", lambda a, b: False)
    (site / "gone.html").write_text("", encoding="utf-8")
    swap_in(site)
    assert read(site) == "new"
    assert not (site / "gone.html").exists()
    assert alone(site)


def test_folders_are_exchanged_in_one_step_here(site: Path) -> None:
    if not publish.exchange(aside(site), site):
        pytest.skip("这个文件系统不能对换两个文件夹")
    assert (read(site), read(aside(site))) == ("new", "old")


def test_c08_recovery_after_an_interruption_while_building(site: Path) -> None:
    recover(site)
    assert read(site) == "old"
    assert alone(site)


def test_c08_recovery_between_exchange_and_clean_up(site: Path) -> None:
    shutil.rmtree(site)
    aside(site).rename(site)
    write(aside(site), "old")
    recover(site)
    assert read(site) == "new"
    assert alone(site)


def test_c08_recovery_between_the_two_renames(site: Path) -> None:
    site.rename(retired(site))
    recover(site)
    assert read(site) == "old"
    assert alone(site)


def test_c08_recovery_after_the_two_renames(site: Path) -> None:
    site.rename(retired(site))
    aside(site).rename(site)
    recover(site)
    assert read(site) == "new"
    assert alone(site)


@pytest.mark.parametrize("step", [1, 2])
def test_c08_a_rename_that_fails_leaves_a_site_to_recover(site: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    monkeypatch.setattr(publish, "exchange", lambda a, b: False)
    done = 0
    rename = Path.rename

    def cut_off(self: Path, target: Path) -> Path:
        nonlocal done
        done += 1
        if done == step:
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as context:
        context.setattr(Path, "rename", cut_off)
        with pytest.raises(KeyboardInterrupt):
            swap_in(site)
    recover(site)
    assert read(site) == "old"
    assert alone(site)


def test_c08_a_new_site_that_cannot_be_put_in_place_leaves_the_old_one_there(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without help of the next build."""
    monkeypatch.setattr(publish, "exchange", lambda a, b: False)
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if self == aside(site):
            raise PermissionError(13, "Permission denied", str(self))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(PermissionError):
        swap_in(site)
    assert read(site) == "old"
    assert alone(site)


def test_nothing_to_recover(tmp_path: Path) -> None:
    recover(tmp_path / "site")
    assert list(tmp_path.iterdir()) == []
