import re
import tempfile
import unittest
from pathlib import Path

from catalogue import load
from failure import Failure
from mutant import Area
from package import TESTS
from weave import weave, woven

ROOT = Path(__file__).resolve().parents[3]


def woven_source(source, add):
    """The source of one file with the mutants that `add` puts into an area."""
    area = Area("area", "")
    add(area)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Sources" / "M" / "file.swift"
        path.parent.mkdir(parents=True)
        path.write_text(source)
        return weave("Sources/M/file.swift", Path(folder), list(enumerate(area.mutants, 1)))


def test_names():
    """Those of the package as `--filter` sees them, and some more: every suite of a file with every function in it."""
    for target in TESTS:
        for path in (ROOT / "Tests" / target).rglob("*.swift"):
            text = path.read_text()
            for suite in re.findall(r"^(?:struct|final class|enum|actor) (\w+)", text, re.MULTILINE):
                for function in re.findall(r"^    func (\w+)", text, re.MULTILINE):
                    yield f"{target}.{suite}/{function}()"


def alternatives(suites):
    """The patterns for single suites of which one is made: `^A[.](B|C)|^D` is `^A[.]B`, `^A[.]C` and `^D`."""
    for part in re.split(r"\|(?=\^)", suites):
        before, bracket, inside = part.partition("(")
        yield from (before + name for name in inside.removesuffix(")").split("|")) if bracket else [part]


class WeaveTests(unittest.TestCase):
    def test_an_expression_is_picked_by_its_number(self):
        text = woven_source("let a = b + 1\n", lambda area: area.expression("x", "M/file.swift", "b + 1", "b"))
        self.assertEqual(text, "let a = (activeMutant == 1 ? (b) : (b + 1))\n")

    def test_two_mutants_share_a_text(self):
        def add(area):
            area.expression("x", "M/file.swift", "b + 1", "b")
            area.expression("y", "M/file.swift", "b + 1", "0")

        text = woven_source("let a = b + 1\n", add)
        self.assertEqual(text, "let a = (activeMutant == 1 ? (b) : activeMutant == 2 ? (0) : (b + 1))\n")

    def test_one_mutant_holds_another(self):
        def add(area):
            area.expression("outer", "M/file.swift", "b + 1", "b")
            area.expression("inner", "M/file.swift", "1", "2")

        text = woven_source("let a = b + 1\n", add)
        self.assertEqual(text, "let a = (activeMutant == 1 ? (b) : (b + (activeMutant == 2 ? (2) : (1))))\n")

    def test_a_statement_goes_and_sql_is_quoted(self):
        text = woven_source("count()\n", lambda area: area.statement("x", "M/file.swift", "count()"))
        self.assertEqual(text, "if activeMutant == 1 {  } else { count() }\n\n")
        text = woven_source('"A AND\nB"', lambda area: area.query("x", "M/file.swift", " AND\nB", ""))
        self.assertEqual(text, '"A\\(unescaped: (activeMutant == 1 ? "" : " AND\\nB"))"')

    def test_a_text_that_is_not_there_or_twice_is_refused(self):
        for source in ["let a = 1\n", "b + 1; b + 1\n"]:
            with self.assertRaisesRegex(Failure, "area/x: .* times, not once"):
                woven_source(source, lambda area: area.expression("x", "M/file.swift", "b + 1", "b"))

    def test_a_string_in_an_interpolation_is_refused(self):
        source = 'let q = "AND \\(f("n"))"\n'
        with self.assertRaisesRegex(Failure, "area/x"):
            woven_source(source, lambda area: area.string("x", "M/file.swift", 'AND \\(f("n"))', "AND false"))

    def test_a_text_that_ends_in_an_interpolation_is_refused(self):
        with self.assertRaisesRegex(Failure, "ends in an interpolation"):
            woven_source('"a OR \\(f(b))"', lambda area: area.string("x", "M/file.swift", " OR \\(", " OR NOT \\("))

    def test_mutants_that_overlap_are_refused(self):
        def add(area):
            area.expression("x", "M/file.swift", "a + b", "a")
            area.expression("y", "M/file.swift", "b + c", "c")

        with self.assertRaisesRegex(Failure, "overlap"):
            woven_source("a + b + c", add)

    def test_a_part_of_a_longer_expression_is_refused(self):
        for source in ["x = request.flag || y", "x = isflag || y", "x = flag || yes"]:
            with self.assertRaisesRegex(Failure, "longer expression"):
                woven_source(source, lambda area: area.expression("x", "M/file.swift", "flag || y", "y"))


class CatalogueTests(unittest.TestCase):
    def test_every_mutant_fits_the_sources(self):
        mutants = load()
        woven(mutants, ROOT)
        self.assertGreaterEqual(len(mutants), 120)
        self.assertTrue(all(mutant.find != mutant.replace for mutant in mutants))

    def test_every_suite_that_is_tried_first_exists(self):
        tests = "\n".join(test_names())
        for suites in sorted({mutant.suites for mutant in load()}):
            for pattern in alternatives(suites):
                with self.subTest(suites=suites, pattern=pattern):
                    self.assertRegex(tests, re.compile(pattern, re.MULTILINE))


if __name__ == "__main__":
    unittest.main()
