"""Programs that run beside a command, and what /proc says of a process that goes on."""

import os
import subprocess
import sys

from measure import CLOCK_TICKS, Failure


class Process:
    """One by its id. Every property raises FileNotFoundError or ProcessLookupError once it is gone."""

    def __init__(self, pid):
        self.pid = pid

    def _fields(self):
        with open(f"/proc/{self.pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()

    @property
    def cpu(self):
        """The seconds of user and system time of all its threads so far."""
        return sum(map(int, self._fields()[11:13])) / CLOCK_TICKS

    @property
    def threads(self):
        return int(self._fields()[17])

    @property
    def resident(self):
        """Bytes."""
        with open(f"/proc/{self.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def forget_peak(self):
        """From here on `peak` is that of the time since."""
        with open(f"/proc/{self.pid}/clear_refs", "w") as file:
            file.write("5")

    @property
    def peak(self):
        """The most bytes that were resident at a time."""
        with open(f"/proc/{self.pid}/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))

    @property
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


class Program:
    """One that runs for as long as a `with` lasts, and no longer: not if it does not come up, nor if that is cut short."""

    # Seconds that it has for ending by itself.
    patience = 60

    def start(self):
        """Starts the process, a Popen."""
        raise NotImplementedError

    def come_up(self):
        """Waits until it can be used; raises a Failure if it cannot."""

    def stop(self):
        """Tells it to end."""
        self.process.terminate()

    def __enter__(self):
        try:
            self.process = self.start()
        except OSError as error:
            raise Failure(error) from None
        try:
            self.come_up()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, failure, *_):
        self.stop()
        try:
            self.process.wait(self.patience)
        except BaseException as error:
            # Also where a signal ends us meanwhile: its folder is removed next.
            self.process.kill()
            self.process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            if failure is None:
                raise Failure(f"{self.process.args[0]} did not end within {self.patience} s") from None
        finally:
            if self.process.stdout:
                self.process.stdout.close()
