"""The effect of a device's parameter on recorded requests: each is replayed on the moved device, which is exact and needs no server."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from tierwise.advisor.other_devices import Step, factors_of, steps_on, with_factors
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.views import open_views
from tierwise.core.files import scratch_folder
from tierwise.core.pairs import load_pair
from tierwise.devices.naming import named
from tierwise.devices.spec import DeviceSpec, load_device
from tierwise.pipeline import runs_in, variables
from tierwise.report.run import Run
from tierwise.sensitivity.bands import Move
from tierwise.sensitivity.moved_checkout import HOME, make_checkout
from tierwise.sensitivity.quantities import Values, values_of
from tierwise.timings.manifest import load_manifest


class Replayed:
    """The recorded requests of `study` on `pair` in the run in `folder`."""

    def __init__(self, folder: Path, study: str, pair: str, verdicts: Mapping[str, ClaimVerdict]):
        self.folder, self.study, self.pair, self.verdicts = folder, study, pair, verdicts
        with open_views(folder.parent, folder.name) as connection:
            self.steps = [step for step in steps_on(connection, folder, pair) if step.study == study]

    def __bool__(self) -> bool:
        return bool(self.steps)

    def values(self, move: Move) -> tuple[Move, Values] | None:
        """Return the values with `move`, as far as the model takes it; `None` where it takes no other value."""
        if move.kind == "scale":
            assert isinstance(move.value, float)
            return move, self._values({}, move.value)
        with scratch_folder("tierwise-moved-") as checkout:
            taken = make_checkout(checkout, move)
            if taken is None:
                return None
            with variables({HOME: str(checkout)}):
                devices = dict(_touched(self.pair, taken.file.removeprefix("devices/")))
        return taken, self._values(devices)

    def _values(self, devices: Mapping[str, DeviceSpec], scale: float = 1.0) -> Values:
        tiers = list(devices) or [tier for tier, spec in self._tiers.items() if "device" in spec]
        factors = factors_of(self.steps, [step.device_s(devices, scale) for step in self.steps])
        connection = open_views(self.folder.parent, self.folder.name, lambda rows: with_factors(rows, self.pair, tiers, factors))
        with runs_in(self.folder.parent):
            return values_of(Run(load_manifest(self.folder), connection, ()), self.study, self.pair, self.verdicts)

    @property
    def _tiers(self) -> Mapping[str, Mapping[str, object]]:
        first: Step = self.steps[0]
        return first.tiers


def _touched(pair: str, file: str) -> Iterator[tuple[str, DeviceSpec]]:
    for tier, spec in load_pair(pair).tiers.items():
        if device := getattr(spec, "device", None):
            found = load_device(device)
            member = getattr(found, "member", None)
            if named(device).stem == file or (member is not None and member == load_device(file)):
                yield tier, found
