"""The cast in the test database."""

from typing import Any

import pytest

from tests.pages import cast


@pytest.fixture
def everyone(db: Any) -> dict[str, Any]:
    return cast.everyone()
