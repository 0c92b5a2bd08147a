"""Folders of the project that code of any package reads."""

from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
FIXTURES = PROJECT / "fixtures"
