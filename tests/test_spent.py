"""Where the time goes is told by part, each second once."""

import time

from tierwise.core.spent import Part, spending, take_spent


def test_a_second_belongs_to_the_innermost_part_alone() -> None:
    take_spent()
    begun_s = time.monotonic()
    with spending(Part.SERVERS):
        time.sleep(0.02)
        with spending(Part.MEASURING):
            time.sleep(0.03)
            with spending(Part.LOADING):
                time.sleep(0.01)
        with spending(Part.LOADING):
            time.sleep(0.02)
    took_s = time.monotonic() - begun_s
    spent_s = take_spent()
    assert spent_s[Part.SERVERS] >= 0.02
    assert spent_s[Part.MEASURING] >= 0.03
    assert spent_s[Part.LOADING] >= 0.03
    assert 0.08 <= sum(spent_s.values()) <= took_s
    assert take_spent() == {}, "it is told once"


def test_what_fails_has_taken_its_time_too() -> None:
    take_spent()
    try:
        with spending(Part.MEASURING), spending(Part.LOADING):
            raise ValueError
    except ValueError:
        pass
    assert set(take_spent()) == {Part.MEASURING, Part.LOADING}
