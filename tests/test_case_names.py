"""Names of cases as readers call them."""

import pytest

from tierwise.report.words import case_name, spelled


@pytest.mark.parametrize(
    ("case", "name"),
    [
        ("FL", "Florida"),
        ("FL->PR", "Puerto Rico after Florida"),
        ("FL/PR", "Florida over Puerto Rico"),
        ("FL->PR/PR", "Puerto Rico after Florida over Puerto Rico"),
        ("FL->PR on disks/FL->PR on SSD", "Puerto Rico after Florida on disks over Puerto Rico after Florida on SSD"),
        ("one index, PR/two indexes, PR", "one index, PR over two indexes, PR"),
    ],
)
def test_each_half_of_an_order_has_its_own_name(case: str, name: str) -> None:
    assert case_name(case) == name


def test_a_reason_names_the_cases_as_the_table_does() -> None:
    assert spelled("a bound: FL->PR/PR, NV") == "a bound: Puerto Rico after Florida over Puerto Rico, Nevada"
