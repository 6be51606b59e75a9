"""Weaves all mutants into copies of the sources, so that one build holds them all and a number picks one."""

import re
from collections import defaultdict
from pathlib import Path

from failure import Failure

#: What each module with mutants is given. The number is read once; 0 is the program as it is.
SWITCH = """\
import Glibc

/// The mutant that this process tries.
let activeMutant = getenv("TALLY_MUTANT").flatMap { Int(String(cString: $0)) } ?? 0
"""

#: A string within an interpolation. To quote what holds one would escape its marks, which Swift does not read.
QUOTE_IN_INTERPOLATION = re.compile(r'\\\([^\n]*"')
#: The end of a text within an interpolation.
OPEN_INTERPOLATION = re.compile(r"\\\([^)\n]*$")


def woven(mutants, root):
    """The changed files by path: `mutants` are numbered from 1 in their order."""
    numbered = defaultdict(list)
    for number, mutant in enumerate(mutants, 1):
        numbered[mutant.file].append((number, mutant))
    files = {file: weave(file, root, some) for file, some in numbered.items()}
    for module in {Path(*Path(file).parts[:2]) for file in numbered}:
        files[str(module / "MutantSwitch.swift")] = SWITCH
    return files


def weave(file, root, numbered):
    path = root / file
    if not path.is_file():
        raise Failure(f"{file} is not there; its mutants are to be moved: {names(numbered)}")
    source = path.read_text()
    groups = defaultdict(list)
    for number, mutant in numbered:
        first, last = span(source, mutant)
        if mutant.kind == "expression" and is_torn(source, first, last):
            raise Failure(f"{mutant.name}: {mutant.find!r} is a part of a longer expression in {file}")
        groups[first, last].append((number, mutant))
    return woven_text(source, 0, len(source), sorted(groups, key=lambda span: (span[0], -span[1])), groups)


def woven_text(source, start, end, spans, groups):
    """The text from `start` to `end` with the mutants of the spans in it, the outer ones first; one may hold others."""
    text, spans = "", list(spans)
    while spans:
        first, last = spans.pop(0)
        inner = [span for span in spans if span[0] < last]
        spans = spans[len(inner):]
        if any(span[1] > last for span in inner):
            raise Failure(f"mutants overlap at {source[first:last]!r}: {names(groups[first, last])}")
        text += source[start:first] + choice(woven_text(source, first, last, inner, groups), groups[first, last])
        start = last
    return text + source[start:end]


def names(numbered):
    return ", ".join(mutant.name for _, mutant in numbered)


def span(source, mutant):
    """Where the text of a mutant stands."""
    start, text = 0, source
    for part in [mutant.at, mutant.find] if mutant.at else [mutant.find]:
        if text.count(part) != 1:
            raise Failure(f"{mutant.name}: {mutant.file} has {part!r} {text.count(part)} times, not once")
        start += text.index(part)
        text = part
    return start, start + len(mutant.find)


def is_torn(source, first, last):
    """Whether a name goes on before or behind a span, so that parentheses around it would not build."""
    before, behind = source[first - 1:first + 1], source[last - 1:last + 1]
    return re.fullmatch(r"[\w.]\w", before) is not None or re.fullmatch(r"\w{2}", behind) is not None


def choice(original, numbered):
    """The text that picks one of some mutants of the same span, or the original."""
    kinds = {mutant.kind for _, mutant in numbered}
    if len(kinds) > 1:
        raise Failure(f"mutants of one text are of several kinds: {names(numbered)}")
    kind = kinds.pop()
    if kind == "statement":
        text = f"{{ {original} }}"
        for number, mutant in reversed(numbered):
            text = f"if activeMutant == {number} {{ {mutant.replace} }} else {text}"
        return text + "\n"
    if kind == "expression":
        return ternary(numbered, f"({original})", lambda text: f"({text})")
    if kind == "query" and any("\\(" in text for text in [original, *(mutant.replace for _, mutant in numbered)]):
        raise Failure(f"an interpolation in SQL: {names(numbered)}")
    if any(QUOTE_IN_INTERPOLATION.search(text) for text in [original, *(mutant.replace for _, mutant in numbered)]):
        raise Failure(f"a quotation mark in an interpolation, which does not build: {names(numbered)}")
    if any(OPEN_INTERPOLATION.search(text) for text in [original, *(mutant.replace for _, mutant in numbered)]):
        raise Failure(f"a text that ends in an interpolation, which does not build: {names(numbered)}")
    label = "unescaped: " if kind == "query" else ""
    return f"\\({label}{ternary(numbered, quoted(original), quoted)})"


def ternary(numbered, original, form):
    tests = "".join(f"activeMutant == {number} ? {form(mutant.replace)} : " for number, mutant in numbered)
    return f"({tests}{original})"


def quoted(text):
    return '"' + text.replace('"', '\\"').replace("\n", "\\n") + '"'
