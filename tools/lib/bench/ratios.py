"""The ratios of `tools/bench` by commit: docs/internals/measured/ratios.json, and the page that shows them."""

import json
import os

from page import markdown_table, replace_between

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
MEASURED = os.path.join(ROOT, "docs", "internals", "measured", "ratios.json")
PAGE = os.path.join(ROOT, "docs", "internals", "ratios.md")
# What fell by more than this share needs a reason on the page.
LIMIT = 0.10
# The rows of the page, in this order: the part, the field of its report, and words for people.
NAMES = {
    ("transport", "ratio_to_h2load"): "a push, 1 connection × 500 streams, to h2load",
    ("transport", "ratio_to_h2load_4x1000"): "a push, 4 × 1,000, to h2load",
    ("schema", "ratio_to_ajv"): "validating a small document, to ajv",
    ("schema", "ratio_to_ajv_3500"): "validating a large document, to ajv",
    ("schema", "ratio_to_jsonschema_rs"): "validating a small document, to jsonschema-rs",
    ("schema", "ratio_to_jsonschema_rs_3500"): "validating a large document, to jsonschema-rs",
    ("orchestrator", "ratio_to_h2load"): "a change to 1,000,000 tokens, to h2load",
    ("orchestrator", "ratio_to_pgbench"): "10,000 single updates, to pgbench",
    ("orchestrator", "ratio_to_pgbench_more_callers"): "the same, 256 callers, to pgbench",
    ("orchestrator", "ratio_to_pgbench_batched"): "the same, in batches, to pgbench",
    ("orchestrator", "ratio_to_pgbench_upserts"): "registrations, to pgbench",
    ("orchestrator", "ratio_to_pgbench_upserts_batched"): "registrations in batches, to pgbench",
    ("accept", "ratio_to_pgbench"): "accepting, one a request, to pgbench",
    ("accept", "ratio_to_pgbench_batch"): "accepting in batches of 1,000, to pgbench",
    ("accept", "ratio_to_pgbench_stream"): "accepting by one stream, to pgbench",
    ("accept", "ratio_to_pgbench_streams"): "accepting by eight streams, to pgbench",
    ("start", "ratio_to_node_start"): "start of the daemon, to Node's server",
    ("start", "ratio_to_node_memory"): "memory at rest, to Node's server",
}


def read(path=MEASURED):
    """The runs, the oldest first: `commit`, `date`, `cpus`, and `ratios` by part and field."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def added(runs, results, facts, commit):
    """The runs with one more. A part that was not measured is not in it; a second run of a commit takes the place of the first."""
    found = {}
    for part, field in NAMES:
        said = results.get(part)
        if said is not None and field in said:
            found.setdefault(part, {})[field] = said[field]
    one = {"commit": commit, "date": facts["date"], "cpus": facts["cpus"], "ratios": found}
    return [run for run in runs if (run["commit"], run["cpus"]) != (commit, facts["cpus"])] + [one]


def points(runs, part, field):
    """The runs that measured this ratio, each with its value."""
    return [(run, run["ratios"][part][field]) for run in runs if field in run["ratios"].get(part, {})]


def change(found):
    """How much better the newest ratio is than the one before it on as many CPUs. None if there is none before it."""
    *earlier, (run, last) = found
    before = [value for other, value in earlier if other["cpus"] == run["cpus"]]
    return last / before[-1] - 1 if before else None


def rows(runs):
    """The table: the newest value of each ratio, and what became of it."""
    yield ["ratio", "first", "before", "now", "change", "commit"]
    for (part, field), words in NAMES.items():
        found = points(runs, part, field)
        if not found:
            continue
        step = change(found)
        mark = "" if step is None else f"**{step:+.0%}**" if step < -LIMIT else f"{step:+.0%}"
        before = f"{found[-2][1]:.2f}" if len(found) > 1 else ""
        run, last = found[-1]
        yield [words, f"{found[0][1]:.2f}", before, f"{last:.2f}", mark, f"{run['commit']}, {run['cpus']} CPUs"]


def write(runs):
    """Writes the data and the table of the page. `tools/plots` draws the picture."""
    with open(MEASURED, "w", encoding="utf-8") as file:
        file.write(json.dumps(runs, indent=1) + "\n")
    replace_between(PAGE, "ratios", "\n".join(markdown_table(list(rows(runs)), left=1)))


def record(results, facts, commit):
    """Adds what `tools/bench` has found."""
    write(added(read() if os.path.exists(MEASURED) else [], results, facts, commit))
