"""tools/bench schema: what it costs to parse and validate a document, beside other people's validators.

The schema is in the subset that draft-07 and 2020-12 share, the document is parsed anew every time, and every process
has one CPU to itself. A validator that accepts the wrong document, or refuses the right one, ends the bench.
"""

import json
import os
import re
import sys
import tempfile

import command
from measure import conditions, median, run, table, version

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.normpath(os.path.join(HERE, "../../benches/schema"))
sys.path.insert(0, BENCH)
from documents import write  # noqa: E402

CPU = set(sorted(os.sched_getaffinity(0))[-1:])
SCHEMA = os.path.join(BENCH, "content-state.schema.json")
# How many events make a document of about that many bytes.
DOCUMENTS = {"400": 2, "3500": 51}
PEERS = ["jsonschema-rs", "fastjsonschema", "ajv"]


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        os.environ["NODE_PATH"] = "/usr/share/nodejs"

    def words(self, name):
        if name == "tally":
            return [self.binary]
        if name == "ajv":
            return ["node", os.path.join(BENCH, "peers/ajv_validator.cjs")]
        return [sys.executable, os.path.join(BENCH, "peers/python_validator.py"), name]

    @property
    def binary(self):
        return os.path.join(self.options.bin, "bench-schema")

    def microseconds(self, name, paths):
        """The CPU time of one document."""
        output = run([*self.words(name), SCHEMA, *paths, str(self.options.seconds)], CPU).output
        result = json.loads(output)
        return result["cpu_seconds"] / result["documents"] * 1e6

    def rounds(self, label):
        """Every validator in turn, some times over; the ratio is taken within each round."""
        *paths, size = write(self.folder, label, DOCUMENTS[label])
        times = {name: [] for name in ["tally", *PEERS]}
        for number in range(self.options.rounds):
            names = list(times)
            for name in names if number % 2 else reversed(names):
                times[name].append(self.microseconds(name, paths))
        ratios = {
            name: median([theirs / ours for theirs, ours in zip(times[name], times["tally"])]) for name in PEERS
        }
        return {
            "bytes": size,
            "cpu_us": {name: round(median(values), 3) for name, values in times.items()},
            "documents_per_second_per_core": {name: round(1e6 / median(values)) for name, values in times.items()},
            "ratio_to": {name: round(ratio, 3) for name, ratio in ratios.items()},
            "allocations": self.allocations(paths),
        }

    def allocations(self, paths):
        """How often memory is asked for per document: the difference between two runs, as valgrind counts them."""
        counts = []
        for documents in (500, 1500):
            words = [self.binary, SCHEMA, *paths, "--count", str(documents)]
            # Its report goes to the same place as the program's own output.
            output = run(["valgrind", "--log-fd=1", *words], CPU).output
            counts.append(int(re.search(r"total heap usage: ([\d,]+) allocs", output)[1].replace(",", "")))
        return (counts[1] - counts[0]) / 1000


def lines(parts):
    rows = [["", "us CPU", "documents/s per core", "tally is faster by"]]
    for part in parts.values():
        rows.append([f"{part['bytes']} bytes", "", "", ""])
        for name in ["tally", *PEERS]:
            ratio = part["ratio_to"].get(name)
            rate = part["documents_per_second_per_core"][name]
            rows.append([f"  {name}", f"{part['cpu_us'][name]:.2f}", f"{rate:,}", f"{ratio:.2f}" if ratio else ""])
    yield from table(rows)
    for part in parts.values():
        yield f"allocations of tally for {part['bytes']} bytes, parsing included: {part['allocations']:g}"


def main():
    parser = command.parser("schema", __doc__, rounds=(5, "rounds"))
    parser.add_argument("--seconds", type=float, default=1.5, help="CPU seconds of one measurement (default 1.5)")
    options = parser.parse_args()
    if not 0.01 <= options.seconds <= 60:
        parser.error("--seconds from 0.01 to 60")
    facts = conditions()
    with tempfile.TemporaryDirectory(prefix="tally-bench-") as folder:
        bench = Bench(options, folder)
        parts = {label: bench.rounds(label) for label in DOCUMENTS}
    facts |= {
        "load_after": round(os.getloadavg()[0], 2),
        "on CPU": min(CPU),
        "rounds": options.rounds,
        "swift": version("swift", "--version"),
        "node": version("node", "--version"),
        "python": sys.version.split()[0],
    }
    # The smaller document is the usual one: most content-states are.
    ratios = {
        f"ratio_to_{name.replace('-', '_')}{suffix}": parts[label]["ratio_to"][name]
        for label, suffix in (("400", ""), ("3500", "_3500"))
        for name in PEERS
    }
    command.report(options, ratios, {"documents": parts}, facts, lines(parts))


if __name__ == "__main__":
    command.play("tools/bench schema", main)
