"""What a mutant is: one small wrong change to the sources, which some test should notice."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mutant:
    """`find` stands exactly once in the file, or exactly once in `at`, which stands exactly once in the file."""

    name: str
    file: str
    find: str
    replace: str
    #: How the text is swapped: an expression or a statement of Swift, or a part of a literal (`query` or `string`).
    kind: str
    at: str | None = None
    #: Why no test can notice it; then it is not tried.
    equivalent: str | None = None
    #: Regular expression of the suites that are tried first.
    suites: str = ""


@dataclass
class Area:
    """The mutants of one promise. `suites` are those that should notice them; they are tried first."""

    name: str
    suites: str
    mutants: list[Mutant] = field(default_factory=list)

    def _add(self, kind, name, file, find, replace, at, equivalent):
        self.mutants.append(
            Mutant(f"{self.name}/{name}", f"Sources/{file}", find, replace, kind, at, equivalent, self.suites)
        )

    def expression(self, name, file, find, replace, at=None, equivalent=None):
        """An expression of Swift takes the place of another of its type."""
        self._add("expression", name, file, find, replace, at, equivalent)

    def statement(self, name, file, find, replace="", at=None, equivalent=None):
        """Statements of Swift take the place of others; by default none."""
        self._add("statement", name, file, find, replace, at, equivalent)

    def query(self, name, file, find, replace, at=None, equivalent=None):
        """SQL takes the place of other SQL in the literal of a `Query`. Neither holds an interpolation."""
        self._add("query", name, file, find, replace, at, equivalent)

    def string(self, name, file, find, replace, at=None, equivalent=None):
        """Text takes the place of other text in the literal of a `String`."""
        self._add("string", name, file, find, replace, at, equivalent)
