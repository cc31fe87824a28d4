"""The daemon of emulated tiers: one loop between the kernel, which requests, and device models, which set the times; one clock for all.

``python -m tierwise.tiers.server STATE`` mounts what its control channel requests, serves until all of it is unmounted or it receives a
signal, and leaves no mount.
"""

import gc
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from heapq import heappop, heappush
from math import inf
from pathlib import Path
from select import EPOLLHUP, EPOLLIN, epoll, select
from typing import Any, Final

from tierwise.core.errors import InputError, TierwiseError
from tierwise.tiers.clock import AnyClock, Charge, Real, VirtualOne, VirtualSeveral, record
from tierwise.tiers.control import Command, ControlServer, DeferredAnswer, Record
from tierwise.tiers.mounting import unmount
from tierwise.tiers.scheduling import AwakeProcessors, SharedProcessor, real_time
from tierwise.tiers.sessions import grouped
from tierwise.tiers.sleeps import Sleepers
from tierwise.tiers.transfers import Workers
from tierwise.tiers.volume import Unmounted, Volume, busy_s, waiting

SPIN_S: Final = 50e-6
SPIN_SHARE: Final = 0.03
SPIN_MOST_S: Final = 150e-6
"""The last stretch before a deadline is polled, not slept: a short sleep ends 20-40 us late, one of milliseconds up to 150 us."""

AT_ONCE: Final = 32  # messages taken before the loop looks for anything else

LOOK_S: Final = 30e-6
LOOK_MOST_S: Final = 240e-6
"""While requests are outstanding, a virtual clock checks so often whether anybody could still run: each look takes a processor."""
GLANCE_S: Final = 1e-3  # while none are, it checks this often how many run


class Server:
    """The mounts of one daemon by name, its clock, and what its control channel may request."""

    volume_type = Volume

    def __init__(self) -> None:
        self._woken, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        # One descriptor for all, opened early: select() takes none above 1023, and a busy mount has more files open than that.
        self._epoll = epoll()
        self._epoll.register(self._woken, EPOLLIN)
        self._volumes: dict[str, Volume] = {}
        self._ready: dict[int, Volume] = {}  # by descriptor
        self._clock: AnyClock = Real()
        self._workers = Workers(self._wake)
        self._wakefulness = AwakeProcessors()
        self._turns = SharedProcessor()
        # A heap of (when, number, whether the clock is then held, answer)
        self._sleepers: list[tuple[float, int, bool, DeferredAnswer]] = []
        self._slept = 0
        self._look_s = LOOK_S
        self._were_awaited = False  # whoever was answered last may still be being woken, and is not seen to run yet
        self._reported_sleeps: Sleepers | None = None  # of a server's processes
        self._slowdown = 1.0  # of the devices, and so of these sleeps
        self._ending = self._leaving = self._mounted = False
        self.commands: dict[str, Command] = {
            "ping": os.getpid,
            "mount": self._mount,
            "drop": self._drop,
            "clock": self._set_clock,
            "time": lambda: {**self._clock.parts(), "busy_s": busy_s(self._volumes)},  # of one moment: a held clock goes on later
            "record": lambda **where: record(self._clock, lambda: waiting(self._volumes), **where),
            "sleep": self._sleep,
            "sleeps": self._hear_sleeps,
            "hold": self._hold,
            "history": self._history,
            "delays": self._delays,
            **{name: self._of_a_tier(name) for name in ("path", "forget", "reset", "statistics", "busy", "hits", "log")},
        }

    def serve(self, control: ControlServer) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._end)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        os.umask(0)  # the kernel has applied the caller's
        os.chdir("/")
        self._epoll.register(control.descriptor, EPOLLIN)
        gc.freeze()
        gc.disable()  # the loop makes no cycles, and a collection would delay whatever is due
        try:
            while self._volumes or not (self._mounted or self._ending):
                self._turn(control)
        finally:
            self._turns.end()  # the session may live on

    def _turn(self, control: ControlServer) -> None:
        select((self._epoll.fileno(),), (), (), self._patience_s())
        self._advance()
        for source, seen in self._epoll.poll(0):
            self._look_s = LOOK_S / 2
            if volume := self._ready.get(source):
                for _ in range(AT_ONCE):  # most often there are more, and to take them is faster than to poll
                    if not self._take(volume):
                        break
                    if isinstance(self._clock, Real):
                        self._advance()
            elif source == self._woken:
                os.read(self._woken, 4096)
                self._workers.collect()
            elif source == control.descriptor:
                control.serve()
            elif self._reported_sleeps and source == self._reported_sleeps.descriptor:
                self._lie_down()
                if seen & EPOLLHUP:  # whoever could tell has ended
                    self._hear_no_sleeps()
        self._run_ahead()
        if self._ending and not self._leaving:
            self._leaving = True
            threading.Thread(target=self._leave, args=(list(self._volumes.items()),), daemon=True).start()

    def _advance(self) -> None:
        now_s = self._clock.now()
        for volume in self._volumes.values():
            volume.transfers.advance(now_s)
        while self._sleepers and self._sleepers[0][0] <= now_s:
            _, _, hold, later = heappop(self._sleepers)
            if hold:
                self._hold(held=True)
            later.answer(self._clock.parts())

    def _run_ahead(self) -> None:
        if isinstance(self._clock, Real):
            return
        while self._awaited() and not self._workers.pending:
            if isinstance(self._clock, VirtualOne) and sum(volume.transfers.outstanding for volume in self._volumes.values()) > 1:
                self._clock.crowded()
            if not self._clock.blocked(self._drained):
                self._advance()
                break
            if isinstance(self._clock, VirtualSeveral) and not self._wakes():
                self._clock.idle(self._due_s())
                self._advance()
                break
            self._clock.jump(self._due_s())
            self._look_s = LOOK_S / 2
            self._advance()
        if isinstance(self._clock, VirtualSeveral) and not self._awaited():
            self._clock.glance()

    def _awaited(self) -> bool:
        return bool(self._sleepers) or any(volume.transfers.outstanding for volume in self._volumes.values())

    def _wakes(self) -> bool:
        """Whether a session is woken when the clock goes on: by a device, or from its own sleep; who holds the clock is none."""
        return any(volume.transfers.outstanding for volume in self._volumes.values()) or not all(hold for _, _, hold, _ in self._sleepers)

    def _due_s(self) -> float:
        first = min((volume.transfers.due_s for volume in self._volumes.values()), default=inf)
        return min(first, self._sleepers[0][0]) if self._sleepers else first

    def _drained(self) -> bool:
        taken = [self._take(volume) for volume in list(self._volumes.values())]
        return not (any(taken) or self._lie_down())

    def _lie_down(self) -> bool:
        """Let reported sleeps end by a virtual clock of several, slowed as the devices are; True where there was one."""
        sleepers, seen = self._reported_sleeps, False
        while sleepers and (sleep := sleepers.take()):
            seen = True
            number, seconds = sleep
            if isinstance(self._clock, VirtualSeveral) or (isinstance(self._clock, Real) and self._slowdown != 1.0):
                self._wake_after(seconds * self._slowdown).answer = sleepers.waking(number)
            else:
                sleepers.let(number)
        return seen

    def _patience_s(self) -> float | None:
        if isinstance(self._clock, VirtualSeveral):
            awaited, self._were_awaited = self._were_awaited, self._awaited()
            self._look_s = min(2 * self._look_s, LOOK_MOST_S)
            return self._look_s if awaited or self._were_awaited else GLANCE_S
        due_s = self._due_s()
        if due_s == inf or isinstance(self._clock, VirtualOne):
            return None
        wait_s = due_s - self._clock.now()
        return max(0.0, wait_s - max(SPIN_S, min(SPIN_SHARE * wait_s, SPIN_MOST_S)))

    def _take(self, volume: Volume) -> bool:
        try:
            return volume.take()
        except Unmounted:
            self._forget(volume)
            return False

    def _forget(self, gone: Volume) -> None:
        self._epoll.unregister(gone.descriptor)
        del self._ready[gone.descriptor]
        self._volumes = {name: volume for name, volume in self._volumes.items() if volume is not gone}
        gone.close()
        gc.collect()  # what it held goes round in cycles
        self._be_prompt()

    def _wake(self) -> None:
        with suppress(BlockingIOError):  # the pipe is full of wake-ups
            os.write(self._waker, b"\0")

    def _end(self, *_: object) -> None:
        self._ending = True

    def _leave(self, volumes: list[tuple[str, Volume]]) -> None:
        """Unmount, in a thread because that may need the loop; out of the tree even if somebody still uses it."""
        for name, volume in volumes:
            try:
                unmount(volume.mountpoint)
                continue  # the loop learns of it from the kernel
            except InputError as busy:
                print(f"unmounted although {busy}", file=sys.stderr, flush=True)
                unmount(volume.mountpoint, lazily=True)
            except OSError as gone:
                print(gone, file=sys.stderr, flush=True)
            self._volumes.pop(name, None)  # who uses it keeps the kernel from telling its end
        self._wake()

    # What the control channel asks

    def _mount(self, *, tier: str, device: str, backing: str, mountpoint: str, **options: Any) -> None:
        volume = self.volume_type(device, Path(backing), Path(mountpoint), **options, workers=self._workers, clock=self._clock)
        self._volumes[tier] = self._ready[volume.descriptor] = volume
        self._epoll.register(volume.descriptor, EPOLLIN)
        self._mounted = True

    def _drop(self, *, tier: str) -> None:
        if volume := self._volumes.get(tier):
            self._forget(volume)

    def _of_a_tier(self, name: str) -> Command:
        def command(*, tier: str, **arguments: Any) -> Any:
            return getattr(self._volumes[tier].transfers, name)(**arguments)

        return command

    def _set_clock(
        self,
        *,
        session: int | None = None,
        group: list[str] | None = None,
        processors: int = 1,
        origin_s: float = 0.0,
        charge: dict[str, float] | None = None,
    ) -> None:
        self._complete()
        if isinstance(self._clock, VirtualSeveral):
            self._clock.close()
        self._turns.end()
        if session is not None:
            if cached := [name for name, volume in self._volumes.items() if volume.cached]:
                raise ValueError(f"the kernel reads ahead on {cached}, which is more than one request at a time; count a group")
            self._clock = VirtualOne(session, origin_s)
            self._turns.begin(session)
        elif group is not None:
            self._clock = VirtualSeveral(grouped(group), processors, origin_s, Charge(**(charge or {})))
        else:
            self._clock = Real()
        for volume in self._volumes.values():
            volume.go_by(self._clock)

    def _complete(self) -> None:
        """Have threads and devices do what is under way, such as a killed server's writes: nobody waits for it by this clock any more."""
        self._workers.finish()
        while any(volume.transfers.outstanding for volume in self._volumes.values()):
            due_s = min(volume.transfers.due_s for volume in self._volumes.values())
            if due_s == inf:
                return
            time.sleep(max(0.0, due_s - self._clock.now()) if isinstance(self._clock, Real) else 0.0)
            self._clock.jump(due_s)
            self._advance()

    def _history(self, *, path: str) -> None:
        if isinstance(self._clock, VirtualSeveral):
            Path(path).write_bytes(self._clock.history.tobytes())

    def _sleep(self, *, seconds: float, hold: bool = False) -> DeferredAnswer:
        self._hold(held=False)
        return self._wake_after(seconds, hold=hold)

    def _wake_after(self, seconds: float, *, hold: bool = False) -> DeferredAnswer:
        later, until_s = DeferredAnswer(), self._clock.now() + seconds
        self._slept += 1
        heappush(self._sleepers, (until_s, self._slept, hold, later))
        return later

    def _hear_sleeps(self, *, pid: int, descriptor: int) -> None:
        self._hear_no_sleeps()
        self._reported_sleeps = Sleepers(pid, descriptor)
        self._epoll.register(self._reported_sleeps.descriptor, EPOLLIN)

    def _hear_no_sleeps(self) -> None:
        if self._reported_sleeps:
            self._epoll.unregister(self._reported_sleeps.descriptor)
            self._reported_sleeps.close()
            self._reported_sleeps = None

    def _hold(self, *, held: bool) -> None:
        if isinstance(self._clock, VirtualSeveral):
            self._clock.hold(held)

    def _delays(self, *, tier: str, on: bool, slowdown: float = 1.0) -> None:
        self._volumes[tier].transfers.delays(on=on, slowdown=slowdown)
        self._slowdown = slowdown
        self._be_prompt()

    def _be_prompt(self) -> None:
        wanted = any(volume.transfers.delayed for volume in self._volumes.values())
        real_time(wanted)
        (self._wakefulness.hold if wanted else self._wakefulness.release)()


def serve(server_type: type[Server], folder: Path) -> int:
    """Serve until there is nothing to serve; an error is one line on standard error."""
    try:
        server = server_type()
        Record.mine().save(folder)
        control = ControlServer(Record.control(folder), server.commands)
        try:
            server.serve(control)
        finally:
            control.close()
            Record.forget(folder)
    except (TierwiseError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(serve(Server, Path(sys.argv[1])))
