"""The plots are current, well-formed, and say what was measured."""

import json
import unittest
from xml.etree import ElementTree

import plots


class PlotsTests(unittest.TestCase):
    def test_both_are_current_and_load_nothing(self):
        for name, text in [
            ("fan-out.svg", plots.fan_out(json.loads(plots.FOLLOWERS.read_text(encoding="utf-8")))),
            ("recovery.svg", plots.recovery(plots.RELIABILITY.read_text(encoding="utf-8"))),
        ]:
            with self.subTest(name):
                self.assertEqual((plots.IMAGES / name).read_text(encoding="utf-8"), text, "run tools/plots")
                tree = ElementTree.fromstring(text)
                self.assertTrue(tree.findtext("{http://www.w3.org/2000/svg}title"))
                self.assertIn("prefers-color-scheme: dark", text)
                self.assertNotIn("href", text)

    def test_every_fault_of_the_page_has_its_words(self):
        rows, days = plots.recoveries(plots.RELIABILITY.read_text(encoding="utf-8"))
        self.assertEqual({row[0] for row in rows}, set(plots.WORDS))
        self.assertEqual(len(rows), len(plots.WORDS), "each fault once")
        self.assertTrue(all(1 <= row[1] <= 100 and 0 < row[2] <= row[3] for row in rows))
        self.assertTrue(days)

    def test_a_row_is_read_cell_by_cell(self):
        page = "2026-01-02; a machine\n| `kill` | it is killed | 20 | 4013 | all of 1935 | 23 (0) | 71 | 3.8 s (4.6 s) |\n"
        self.assertEqual(plots.recoveries(page), ([("kill", 20, 3.8, 4.6)], ["2026-01-02"]))

    def test_durations_have_two_digits(self):
        self.assertEqual([plots.duration(one) for one in (0.0134, 0.6, 1.234, 21.56)], ["13 ms", "600 ms", "1.2 s", "22 s"])


if __name__ == "__main__":
    unittest.main()
