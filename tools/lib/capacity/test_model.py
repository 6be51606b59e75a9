"""The arithmetic of the capacity model, on costs that can be reckoned with in the head."""

import unittest
from pathlib import Path

import measured
from capacity import sizing
from model import Costs, Plan, need


def unit(daemon, postgres, wal=0, disk=0):
    return {"daemon_us": daemon, "postgres_us": postgres, "wal_bytes": wal, "disk_bytes": disk}


def costs(**changed):
    of = {
        "idle": {"daemon_us": 1_000, "postgres_us": 2_000},
        "change": unit(300, 400, wal=1_000, disk=500),
        "lone_change": unit(900, 1_200, wal=1_000, disk=500),
        "broadcast": unit(500, 600),
        "push": unit(5, 2),
        "start": unit(50, 100, wal=700, disk=200),
        "report": unit(200, 300, wal=500, disk=100),
        "lone_report": unit(600, 900, wal=500, disk=100),
        "late_report": unit(200, 300, wal=500, disk=100),
        "channel": unit(1_000, 1_000),
    }
    numbers = {
        "pushes_per_second": 100_000, "ring_pushes_per_second": 60_000, "passes": [[1_000, 0.02], [2_000, 0.03], [6_000, 0.11]], "starts_per_second": 10_000, "reports_per_second": 5_000,
        "first_seconds": 0.01, "start_token_bytes": 600, "subscription_bytes": 500, "empty_bytes": 10_000_000,
    }  # fmt: skip
    return Costs(of=of, **(numbers | changed))


def behind_the_longest(pushes, rate):
    """The seconds of a pass that is longer than the longest measured one."""
    return 0.11 + (pushes - 6_000) / rate


class ModelTests(unittest.TestCase):
    def test_cpu_is_the_sum_of_the_work_and_of_resting(self):
        daemon, postgres = costs().cpu({"push": 1_000_000, "change": 10}, seconds=60, daemons=2)
        self.assertAlmostEqual(daemon, 5 + 0.003 + 0.12)
        self.assertAlmostEqual(postgres, 2 + 0.004 + 0.24)

    def test_a_short_pass_is_between_the_measured_ones_and_a_long_one_goes_on_at_the_rate(self):
        for pushes, seconds in {500: 0.015, 1_000: 0.02, 1_500: 0.025, 2_000: 0.03, 4_000: 0.07, 6_000: 0.11}.items():
            self.assertAlmostEqual(costs().pass_seconds(pushes), seconds)
        self.assertAlmostEqual(costs().pass_seconds(1_000_000), behind_the_longest(1_000_000, 100_000))

    def test_a_daemon_walks_half_of_the_rings_at_a_time(self):
        self.assertAlmostEqual(costs().pass_seconds(50_000), behind_the_longest(50_000, 60_000))
        self.assertAlmostEqual(costs().pass_seconds(100_000), behind_the_longest(100_000, 60_000))
        # Three rings, two of which fill the wire.
        self.assertAlmostEqual(costs().pass_seconds(100_001), behind_the_longest(100_001, 100_000))

    def test_daemons_share_an_activity_only_as_far_as_it_has_rings(self):
        self.assertAlmostEqual(costs().pass_seconds(1_000_000, daemons=4, rings=1), behind_the_longest(1_000_000, 60_000))
        self.assertAlmostEqual(costs().pass_seconds(1_000_000, daemons=4, rings=2), behind_the_longest(1_000_000, 120_000))
        fast = costs(ring_pushes_per_second=100_000)
        self.assertAlmostEqual(fast.pass_seconds(1_000_000, daemons=4, rings=8), behind_the_longest(1_000_000, 400_000))

    def test_phones_follow_when_they_were_started_and_have_reported(self):
        self.assertAlmostEqual(costs().follow_seconds(100_000), 10 + 20)

    def test_what_comes_one_by_one_costs_more(self):
        few, many = (need(costs(), Plan(devices=10, activities=count, updates_per_minute=1)).phases[1] for count in (6_000, 6_060))
        self.assertAlmostEqual(few.daemon_cores, 0.09 + 10 / 60 * 5e-6 + 0.001)
        # No less for a change more, until so many share groups that these cost more than a hundred alone.
        self.assertAlmostEqual(many.daemon_cores, 0.09 + 10 / 60 * 5e-6 + 0.001)
        most = need(costs(), Plan(devices=10, activities=60_000, updates_per_minute=1)).phases[1]
        self.assertAlmostEqual(most.daemon_cores, 0.3 + 10 / 60 * 5e-6 + 0.001)

    def test_all_phones_of_an_event_are_started_and_report_in_the_time_that_is_given(self):
        plan = Plan(devices=600_000, start_minutes=10, updates_per_minute=1)
        start = need(costs(), plan).phases[0]
        # A thousand starts and a thousand reports a second.
        self.assertAlmostEqual(start.daemon_cores, 0.25 + 0.001)
        self.assertAlmostEqual(start.postgres_cores, 0.4 + 0.002)
        self.assertAlmostEqual(start.wal_bytes_per_second, 1_200_000)

    def test_phones_on_a_channel_get_no_pushes_of_their_own_and_report_no_token(self):
        by_channel = need(costs(), Plan(devices=600_000, on_channels=1))
        start, play = by_channel.phases
        self.assertAlmostEqual(start.postgres_cores, 0.1 + 0.002, places=4)
        self.assertEqual(play.pushes_per_second, 0)
        self.assertEqual(by_channel.daemons, 1)
        self.assertEqual(by_channel.reach_seconds, 0.01)

    def test_more_pushes_than_a_daemon_can_send_need_more_daemons(self):
        plan = Plan(devices=6_000_000, updates_per_minute=6, rings=16)
        said = need(costs(ring_pushes_per_second=100_000), plan)
        # 600,000 pushes a second at 100,000 of each daemon.
        self.assertEqual(said.daemons, 6)
        self.assertAlmostEqual(said.reach_seconds, behind_the_longest(6_000_000, 600_000))
        self.assertAlmostEqual(said.changes_per_pass, said.reach_seconds * 6 / 60)
        self.assertEqual(said.database_connections, 6 * 16)

    def test_no_more_is_sent_than_the_daemons_of_an_activity_can(self):
        said = need(costs(ring_pushes_per_second=100_000), Plan(devices=6_000_000, updates_per_minute=6, rings=4))
        self.assertEqual(said.daemons, 4)
        self.assertAlmostEqual(said.phases[1].pushes_per_second, 400_000)
        self.assertAlmostEqual(said.reach_seconds, behind_the_longest(6_000_000, 400_000))

    def test_a_ring_is_no_faster_for_more_daemons(self):
        said = need(costs(), Plan(devices=40_000, updates_per_minute=1_200))
        self.assertAlmostEqual(said.phases[1].pushes_per_second, 60_000)
        self.assertEqual(said.daemons, 1)

    def test_a_primary_that_is_too_small_needs_longer(self):
        said = need(costs(), Plan(devices=60_000_000, start_minutes=10, postgres_cores=16, busy=0.5))
        # 60 million times 400 us on 8 cores.
        self.assertAlmostEqual(said.primary_minutes, 60e6 * 400e-6 / 8 / 60)
        self.assertEqual(said.postgres_cores, 81)

    def test_the_starts_of_an_activity_are_one_workers(self):
        one, ten = (need(costs(), Plan(devices=6_000_000, activities=activities)) for activities in (1, 10))
        self.assertAlmostEqual(one.claim_minutes, 10)
        self.assertAlmostEqual(ten.claim_minutes, 1)

    def test_the_timeline_keeps_each_push_of_small_activities_and_batches_of_large_ones(self):
        small = need(costs(), Plan(devices=1_000, activities=1_000, updates_per_minute=1, minutes=10))
        self.assertEqual(small.rows_per_day, 2_000 + 10_000 + 10_000)
        large = need(costs(), Plan(devices=1_000_000, updates_per_minute=1, minutes=10))
        self.assertEqual(large.rows_per_day, 2_000_000 + 10 + 10 * 391)

    def test_disk_is_what_devices_starts_and_reports_leave(self):
        said = need(costs(), Plan(devices=1_000_000))
        self.assertAlmostEqual(said.disk_bytes, 10e6 + 600e6 + 200e6 + 100e6)

    def test_the_page_of_figures_has_what_the_model_says(self):
        page = Path(__file__).resolve().parents[3] / "docs" / "reference" / "figures.md"
        self.assertIn("\n".join(sizing(measured.read(measured.PATH))), page.read_text(encoding="utf-8"))

    def test_numbers_that_mean_nothing_are_refused(self):
        for wrong in ({"devices": 0}, {"devices": 1, "on_channels": 1.1}, {"devices": 1, "busy": 0}, {"devices": 1, "minutes": 0}):
            with self.assertRaises(ValueError):
                Plan(**wrong)


if __name__ == "__main__":
    unittest.main()
