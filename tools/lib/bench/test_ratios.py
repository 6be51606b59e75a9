"""What becomes of a ratio from commit to commit."""

import unittest

from ratios import added, change, points, rows

FACTS = {"date": "2026-01-02 10:00", "cpus": 2}


def run(commit, value, cpus=2):
    return {"commit": commit, "date": "2026-01-01 10:00", "cpus": cpus, "ratios": {"accept": {"ratio_to_pgbench": value}}}


class RatiosTests(unittest.TestCase):
    def test_a_run_keeps_the_ratios_of_the_parts_that_were_measured(self):
        results = {"accept": {"ratio_to_pgbench": 0.5, "rounds": []}, "start": None}
        runs = added([run("a", 0.4)], results, FACTS, "b")
        self.assertEqual([one["commit"] for one in runs], ["a", "b"])
        self.assertEqual(runs[1]["ratios"], {"accept": {"ratio_to_pgbench": 0.5}})

    def test_a_second_run_of_a_commit_takes_the_place_of_the_first(self):
        runs = added([run("a", 0.4), run("a", 0.3, cpus=4)], {"accept": {"ratio_to_pgbench": 0.5}}, FACTS, "a")
        self.assertEqual([(one["cpus"], one["ratios"]["accept"]["ratio_to_pgbench"]) for one in runs], [(4, 0.3), (2, 0.5)])

    def test_a_ratio_is_compared_with_the_run_before_on_as_many_cpus(self):
        found = points([run("a", 0.5), run("b", 9, cpus=4), run("c", 0.4)], "accept", "ratio_to_pgbench")
        self.assertAlmostEqual(change(found), -0.2)
        self.assertIsNone(change(found[:1]))
        self.assertIsNone(change(found[:2]))

    def test_what_fell_by_over_a_tenth_is_bold(self):
        *_, fell = rows([run("a", 0.5), run("b", 0.4)])
        self.assertEqual(fell[1:], ["0.50", "0.50", "0.40", "**-20%**", "b, 2 CPUs"])
        *_, stayed = rows([run("a", 0.5), run("b", 0.46)])
        self.assertEqual(stayed[4], "-8%")


if __name__ == "__main__":
    unittest.main()
