"""What tests of Programs have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from tutor.programs.source import compiler


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all tests of a session keep what they have compiled."""
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture
def second_road(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TUTOR_CC=1, with a folder of its own, and nothing said so far."""
    monkeypatch.setenv("TUTOR_CACHE", str(kept))
    monkeypatch.setenv("TUTOR_CC", "always")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(compiler, "_said", set())
