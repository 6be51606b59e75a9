"""How two reports of a bench are compared."""

import unittest

from against import compare, direction, figures, lines, slower


class FiguresTests(unittest.TestCase):
    def test_numbers_whose_direction_is_known_are_found_by_their_path(self):
        report = {
            "ratio_to_pgbench": 0.5,
            "phones": 1_000,
            "conditions": {"load_seconds": 1},
            "rows": [{"name": "a push", "cpu_us": 3, "works": True}, {"requests_per_second": 7}],
        }
        self.assertEqual(
            dict(figures(report)),
            {("ratio_to_pgbench",): 0.5, ("rows", "a push", "cpu_us"): 3, ("rows", "1", "requests_per_second"): 7},
        )

    def test_the_name_says_what_is_better(self):
        for name in ("changes_per_second", "ratio_to_postgres_floor", "documents_per_second_per_core"):
            self.assertEqual(direction((name,)), 1, name)
        for name in ("seconds_until_all_follow", "answer_ms", "memory_mib", "us_per_push_together", "cpu_us"):
            self.assertEqual(direction((name,)), -1, name)
        self.assertEqual(direction(("phases", "devices")), 0)
        self.assertEqual(direction(("pushes_per_second", "256")), 1, "the nearest name that says it")


class CompareTests(unittest.TestCase):
    def test_medians_of_what_both_have_are_compared_by_their_direction(self):
        theirs = [{"start_ms": 100, "per_second": 10, "old_ms": 1}, {"start_ms": 300, "per_second": 30}]
        ours = [{"start_ms": 100, "per_second": 30, "new_ms": 1}, {"start_ms": 100, "per_second": 10}]
        self.assertEqual(
            compare(theirs, ours),
            [
                {"name": "start_ms", "before": 200, "after": 100, "better": 1.0},
                {"name": "per_second", "before": 20, "after": 20, "better": 0.0},
            ],
        )

    def test_what_was_nothing_is_left_out(self):
        self.assertEqual(compare([{"wait_ms": 0}], [{"wait_ms": 5}]), [])

    def test_only_what_got_worse_by_more_than_a_tenth_is_told_of(self):
        rows = compare([{"a_ms": 100, "b_ms": 100, "c_per_second": 100}], [{"a_ms": 110, "b_ms": 120, "c_per_second": 80}])
        self.assertEqual([row["name"] for row in slower(rows)], ["b_ms", "c_per_second"])
        text = "\n".join(lines(rows, "abc"))
        self.assertIn("2 of 3 figures got worse by more than 10%:", text)
        self.assertIn("  c_per_second: -20%", text)

    def test_a_comparison_without_a_slower_figure_says_so(self):
        self.assertIn("None of 1 figures", "\n".join(lines(compare([{"a_ms": 1}], [{"a_ms": 1}]), "abc")))


if __name__ == "__main__":
    unittest.main()
