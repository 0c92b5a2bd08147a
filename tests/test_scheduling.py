"""The tests of one file run in one process, in order: fixtures of a module are made once."""

import pytest

_RUN_HERE: list[int] = []


@pytest.mark.parametrize("turn", range(12))
def test_the_tests_of_a_file_run_in_one_process(turn: int) -> None:
    _RUN_HERE.append(turn)
    assert list(range(turn + 1)) == _RUN_HERE
