"""The former name of the package still works, and says the present one."""

import pytest

from tilewright.memory import fronts
from tilewright.memory.planner.problems import functions_problem


def test_the_former_name_warns_and_leads_to_the_present_one():
    with pytest.warns(FutureWarning, match=r"use tilewright\.memory\.planner\.problems"):
        assert fronts.functions_problem is functions_problem


def test_names_that_never_existed_are_not_found():
    with pytest.raises(AttributeError):
        _ = fronts.nonsense
