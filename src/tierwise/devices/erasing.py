"""A flash drive whose channels are held up by what is written to them: by programs, and by the erasing of blocks."""

from tierwise.core.units import PAGE_BYTES
from tierwise.devices.protocol import Operation
from tierwise.devices.spec import Erase, SsdSpec
from tierwise.devices.ssd import Ssd


class ErasingSsd(Ssd):
    """The drive of `spec`, without its write cache, with pages that lie in the channel which their address says.

    A read waits for its own channels, where `Ssd` takes whichever is free; each time a block's worth is written, the channel that was
    written last erases one and serves nothing meanwhile. What collecting garbage would write beside is not known, and left out.
    """

    def __init__(self, spec: SsdSpec, erase: Erase):
        self._erase_s, self._block_bytes = erase.latency.base, int(erase.block.base)
        super().__init__(spec)

    def reset(self) -> None:
        super().reset()
        self._unerased_bytes = 0

    def submit(self, now_s: float, tag: int, operation: Operation, address_bytes: int, size_bytes: int) -> None:
        if operation is Operation.FLUSH:
            super().submit(now_s, tag, operation, address_bytes, size_bytes)
            return
        first, last = address_bytes // PAGE_BYTES, (address_bytes + max(1, size_bytes) - 1) // PAGE_BYTES
        own = [page % self._channels for page in range(max(first, last - self._channels + 1), last + 1)]
        free_s = max(self._free_s[channel] for channel in own)
        erased_s = 0.0
        if operation is Operation.READ:
            enter_s = self._reads.enter(now_s) if self._reads else now_s
            self._read_until_s = done_s = max(max(enter_s, free_s) + self._read_s, self._read_until_s) + size_bytes / self._read_rate
        else:
            extra_s = 0.0 if address_bytes == self._write_end else self._random_s
            ready_s = max(max(now_s, free_s) + self._write_s, self._written_s + extra_s)
            self._written_s = done_s = ready_s + size_bytes / self._write_rate
            self._write_end = address_bytes + size_bytes
            erased, self._unerased_bytes = divmod(self._unerased_bytes + size_bytes, self._block_bytes)
            erased_s = erased * self._erase_s
        for channel in own:
            self._free_s[channel] = done_s
        self._free_s[own[-1]] += erased_s
        self._will_be_done(done_s, tag)
