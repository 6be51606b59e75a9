"""Finds the sentences that a reader stumbles over: see --help."""

import argparse
import re
import sys
from pathlib import Path

import rules
import texts

ROOT = Path(__file__).resolve().parents[3]
# Everything that users read. In Swift: help, messages, lint texts, log lines, the help of metrics.
READ = {
    "pages": [
        "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/README.md", "docs/tutorials/*.md", "docs/guides/*.md",
        "docs/reference/*.md", "docs/concepts/*.md",
    ],
    "the API's document": ["docs/openapi.yaml"],
    "the texts of the programs": ["Sources/**/*.swift"],
}
# The pages that a user may have to read.
USERS = ["docs/tutorials/*.md", "docs/guides/*.md", "docs/reference/*.md", "docs/concepts/*.md"]
MOST_FLAGGED = 0.04
MOST_WORDS = 20_000


def paths(patterns):
    return [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]


def judged(files):
    """Each sentence of the files with its findings."""
    for path in files:
        for text in texts.READERS[path.suffix](path.read_text(encoding="utf-8")):
            for sentence in rules.sentences(text):
                yield path, sentence, list(rules.findings(sentence))


def show(name, rows, worst):
    """Prints the flagged sentences and the share of them, and returns the share."""
    flagged = [row for row in rows if row[2]]
    for path, sentence, found in sorted(flagged, key=lambda row: -len(row[2]) * 20 - rules.words(row[1]))[:worst]:
        print(f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}: {sentence[:300]}")
        for what, advice in found:
            print(f"    {what}: {advice}")
    share = len(flagged) / len(rows) if rows else 0
    print(f"{name}: {len(rows)} sentences, {len(flagged)} flagged ({share:.1%})")
    return share


def words_of_pages(files):
    """The words of running text and tables: without code blocks, comments and the targets of links."""
    count = 0
    for path in files:
        text = re.sub(r"```.*?```|<!--.*?-->", "", path.read_text(encoding="utf-8"), flags=re.S)
        count += len(re.findall(r"[A-Za-z0-9][\w'’-]*", re.sub(r"\]\([^)]*\)", "]", text)))
    return count


def check(worst):
    """Whether what users read is short and plain enough."""
    failed = False
    for name, patterns in READ.items():
        files = paths(patterns)
        share = show(name, list(judged(files)), worst)
        if not files or share > MOST_FLAGGED:
            print(f"  too many: at most {MOST_FLAGGED:.0%} of {name} may be flagged")
            failed = True
    count = words_of_pages(paths(USERS))
    print(f"words of text in the pages for users: {count:,}")
    if count >= MOST_WORDS:
        print(f"  too many: the pages for users have under {MOST_WORDS:,}")
        failed = True
    return not failed


def main():
    parser = argparse.ArgumentParser(
        prog="tools/prose",
        description="Finds sentences that a reader stumbles over. Without files it checks everything that users read: "
        f"at most {MOST_FLAGGED:.0%} of the sentences may be flagged, and the pages for users have under "
        f"{MOST_WORDS:,} words of text.",
        epilog="A finding is a reason to look, and you decide. Words are counted in text and tables, not in code.",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", type=Path, help="judge these instead")
    parser.add_argument("--worst", type=int, default=10, metavar="N", help="show so many sentences (default: 10)")
    options = parser.parse_args()
    if not options.files:
        return 0 if check(options.worst) else 1
    share = show("these files", list(judged([path.resolve() for path in options.files])), options.worst)
    return 1 if share > MOST_FLAGGED else 0


if __name__ == "__main__":
    sys.exit(main())
