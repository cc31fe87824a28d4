"""Machines as they are written down: ``data/machines/*.toml``, what a read costs the processor and what the kernel keeps of the files."""

from dataclasses import dataclass

from pydantic import Field

from tierwise.core.toml import Strict, input_file, read_toml
from tierwise.devices.parameter import Size, Time


@dataclass(frozen=True)
class Costs:
    """Seconds of a thread: a read that finds its page, one that does not (beside the device's time), and between two reads."""

    hit_s: float
    fault_s: float = 0.0
    think_s: float = 0.0


class Machine(Strict):
    description: str
    threads: int = Field(ge=1)
    hit: Time = Field(description="of a thread, to read an item whose page is mapped, its choice included")
    fault: Time = Field(description="of a thread, for a page that the device has to read, beside the device's own time")
    page_cache: dict[str, Size] = Field(min_length=1, description="by tier: the part of the RAM that the kernel fills with files")

    @property
    def costs(self) -> Costs:
        return Costs(self.hit.base, self.fault.base)


class _StandIn(Strict):
    processors: str


def zipf_machine() -> Machine:
    """Read the machine whose processors the published benchmark is simulated with where no pair is named (``data/machines/zipf.toml``)."""
    return load_machine(read_toml(input_file("machines", "zipf"), _StandIn).processors)


def load_machine(pair: str) -> Machine:
    return read_toml(input_file("machines", pair), Machine)
