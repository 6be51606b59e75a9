"""The plots are current, well-formed, and say what was measured."""

import unittest
from xml.etree import ElementTree

import plots


class PlotsTests(unittest.TestCase):
    def test_all_are_current_and_load_nothing(self):
        for name, text in plots.drawn().items():
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

    def test_a_ratio_that_one_commit_alone_has_is_a_point_of_its_own(self):
        runs = [
            {"commit": "a", "date": "2026-01-01 10:00", "cpus": 2, "ratios": {"accept": {"ratio_to_pgbench": 0.5}}},
            {"commit": "b", "date": "2026-01-02 10:00", "cpus": 2, "ratios": {"start": {"ratio_to_node_start": 0.9}}},
        ]
        text = plots.ratios(runs)
        self.assertEqual(text.count("<circle"), 2)
        self.assertIn("accepting, one a request, to pgbench", text)
        self.assertIn("commit a, to 2026-01-02, commit b", text)

    def test_durations_have_two_digits(self):
        self.assertEqual([plots.duration(one) for one in (0.0134, 0.6, 1.234, 21.56)], ["13 ms", "600 ms", "1.2 s", "22 s"])


if __name__ == "__main__":
    unittest.main()
