"""What /proc says of a process that goes on."""

import os

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


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

    @property
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))
