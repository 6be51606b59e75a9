"""The rules see what they should, and the readers find every text."""

import tempfile
import unittest
from pathlib import Path

import prose
import rules
import texts


def broken(sentence):
    return [name for name, _ in rules.findings(sentence)]


class RulesTests(unittest.TestCase):
    def test_each_rule_has_a_sentence_that_breaks_it_and_one_that_does_not(self):
        for name, hard, plain in [
            ("31 words", " ".join(["word"] * 31) + ".", " ".join(["word"] * 30) + "."),
            ("a clause as the subject", "What is refused changes nothing.", "What is the answer to a refused request?"),
            ("a passive that hides who acts", "The app is asked for its token.", "Tally asks the app for its token."),
            ("a passive that hides who acts", "Nothing is sent then to anybody.", "Tally then sends nothing."),
            (
                "a passive that hides who acts",
                "Rows that are rejected are counted and are written later.",
                "Tally counts the rows that are rejected.",
            ),
            (
                "several conditions",
                "If it fails when nobody looks, wait until it ends.",
                "If it fails, wait until it ends.",
            ),
            ("a pile of nouns", "Show the number of cards of users of the app.", "Count the cards of each user."),
            ("what something is not", "Send nothing but the newest state.", "Send only the newest state."),
            ("turned around", "To each of them is added a row.", "Tally adds a row to each."),
            (
                "two sentences in one",
                "The daemon stops; so every worker gives back the leases that it holds to the others at once.",
                "The daemon stops; workers give back their leases.",
            ),
            ("a rare phrase", "Let sending go on that was halted.", "Resume sending that was halted."),
        ]:
            with self.subTest(hard):
                self.assertIn(name, broken(hard))
                self.assertEqual(broken(plain), [])

    def test_every_rule_has_such_a_sentence_here(self):
        source = Path(__file__).read_text(encoding="utf-8")
        for name in rules.RULES:
            self.assertIn(f'"{name}"', source)

    def test_only_prose_is_read_of_a_page(self):
        page = (
            "# A heading with several words\n\nOne [link to a page](page.md) and `code` here. Another short sentence here.\n\n"
            "```sh\nsome command with many words\n```\n\n| a table | with cells | and words |\n\n"
            "<!-- a comment with several words -->\n- an item of a list\n- too short\n"
        )
        self.assertEqual(
            list(rules.sentences(page)),
            ["One link to a page and code here.", "Another short sentence here.", "an item of a list"],
        )


class TextsTests(unittest.TestCase):
    def test_descriptions_in_every_style(self):
        source = (
            "info:\n  description: |-\n    Two lines\n    of a block.\n\n    A second paragraph.\n  title: no\n"
            "a: {type: string, description: In braces to a comma, example: x}\n"
            "b: {description: 'Quoted, it''s whole.', type: string}\n"
            "c:\n  summary: Plain, with a comma\n    and a second line.\n  d: 1\n"
        )
        self.assertEqual(
            texts.yaml(source),
            [
                "Two lines\nof a block.\n\nA second paragraph.",
                "In braces to a comma",
                "Quoted, it's whole.",
                "Plain, with a comma\nand a second line.",
            ],
        )

    def test_literals_of_swift(self):
        source = '''
            let a = "one \\(f("x")) two"  // "a comment"
            let b = "joined " +
                "to this"
            let c = """
                Several lines \\
                in one.

                SELECT 1 FROM t
                """
            let d = #"raw \\n "text" here"#
            let e = "SELECT id FROM devices WHERE app"
        '''
        self.assertEqual(
            texts.swift(source),
            ["one X two", "joined to this", "Several lines in one.", 'raw \\n "text" here'],
        )

    def test_there_are_texts_of_every_kind(self):
        for patterns in prose.READ.values():
            self.assertGreater(len(list(prose.judged(prose.paths(patterns)))), 500)

    def test_words_of_a_page_are_those_of_text_and_tables(self):
        page = Path(self.enterContext(tempfile.TemporaryDirectory())) / "page.md"
        page.write_text("# Two words\n\n| a | cell |\n\n```sh\nnot these\n```\n[one](link/target.md)\n")
        self.assertEqual(prose.words_of_pages([page]), 5)


if __name__ == "__main__":
    unittest.main()
