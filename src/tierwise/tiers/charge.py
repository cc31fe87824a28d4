"""What a virtual clock of several sessions charges for the processor time that it counts."""

from dataclasses import asdict, dataclass
from typing import Any, Final

from tierwise.tiers.fuse_abi import Opcode

_UNANSWERED: Final = frozenset({Opcode.FORGET, Opcode.BATCH_FORGET, Opcode.INTERRUPT, Opcode.INIT})


@dataclass(frozen=True, slots=True)
class Charge:
    """Of the sessions' processor time the mount's part is free, and the rest counts `pace` times, as on the reference processor.

    The mount's part is what a request costs its caller beyond the same request without a mount: `read_s`, `write_s`, `other_s` (flushes and
    whatever has no data). The default charges all processor time as it was used.
    """

    read_s: float = 0.0
    write_s: float = 0.0
    other_s: float = 0.0
    pace: float = 1.0

    def request_s(self, opcode: Opcode) -> float:
        return 0.0 if opcode in _UNANSWERED else {Opcode.READ: self.read_s, Opcode.WRITE: self.write_s}.get(opcode, self.other_s)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


AS_USED: Final = Charge()
