import Foundation
import Glibc
import SystemSupport
import TestSupport

extension Scenario {
    static let daemonScenarios = [
        kill, pausing("two-daemons", 2, isShort: true), pausing("four-daemons", 4), terminate, clock, upgrade,
    ]

    private static let kill = Scenario(
        name: "kill",
        story: "the only daemon is killed (SIGKILL) ten times at random instants, and started again",
        allowances: .lostStarts,
        times: 20,
        isShort: true,
        prepare: { try await $0.answerLate() },
        faults: { stage in
            for _ in 1...stage.count(10, short: 3) {
                await stage.pause(upTo: 1_500)
                await stage.daemon(0).kill()
                await stage.pause(upTo: 400)
                try await stage.daemon(0).start()
            }
        }
    )

    private static func pausing(_ name: String, _ daemons: Int, isShort: Bool = false) -> Scenario {
        Scenario(
            name: name,
            story: """
                of \(daemons) daemons one is paused (SIGSTOP) for longer than its lease and woken, and one is killed meanwhile \
                and started again
                """,
            daemons: daemons,
            allowances: [.oldPushes, .lostStarts],
            isShort: isShort,
            prepare: { try await $0.answerLate() },
            faults: { stage in
                for _ in 1...stage.count(3, short: 1) {
                    let paused = stage.chance(0...daemons - 1)
                    let killed = (paused + stage.chance(1...daemons - 1)) % daemons
                    try stage.daemon(paused).program.signal(SIGSTOP)
                    await stage.pause(upTo: 1_000)
                    await stage.daemon(killed).kill()
                    await stage.pause(upTo: 1_000)
                    try await stage.daemon(killed).start()
                    // A lease is 4 seconds.
                    await pause(.seconds(5))
                    try stage.daemon(paused).program.signal(SIGCONT)
                    await stage.pause(upTo: 2_000)
                }
            }
        )
    }

    private static let terminate = Scenario(
        name: "sigterm",
        story:
            "the daemon is asked to end (SIGTERM) five times in the middle of changes to 300 phones, and started again",
        crowd: 300,
        isShort: true,
        prepare: { try await $0.answerLate() },
        faults: { stage in
            for _ in 1...stage.count(5, short: 2) {
                await stage.pause(upTo: 1_500)
                let ending = await stage.daemon(0).stop()
                guard ending == .exited(0) else { throw Failure("SIGTERM ended tallyd by \(ending as Any)") }
                try await stage.daemon(0).start()
            }
        }
    )

    private static let clock = Scenario(
        name: "clock",
        story:
            "of two daemons one has a clock that is an hour ahead, and works alone for a while; then one an hour behind",
        daemons: 2,
        isShort: true,
        obstacle: { fakeTime == nil ? "there is no libfaketime (apt-get install faketime)" : nil },
        faults: { stage in
            for offset in ["+1h", "-1h"] {
                await stage.daemon(0).stop()
                stage.daemon(0).change([
                    "LD_PRELOAD": fakeTime ?? "", "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                ])
                try await stage.daemon(0).start()
                await stage.pause(seconds: 10, short: 2)
                await stage.daemon(1).stop()
                await stage.pause(seconds: 10, short: 3)
                try await stage.daemon(1).start()
            }
        }
    )

    private static let fakeTime = ["x86_64", "aarch64"].map { "/usr/lib/\($0)-linux-gnu/faketime/libfaketimeMT.so.1" }
        .first(where: FileManager.default.fileExists)

    private static let upgrade = Scenario(
        name: "upgrade",
        story:
            "two daemons of an earlier version; the database is migrated under them, and they are replaced one by one",
        daemons: 2,
        beginsEarlier: true,
        prepare: { try await $0.answerLate() },
        faults: { stage in
            try await stage.system.migrate()
            await stage.pause(seconds: 5, short: 2)
            for daemon in stage.system.daemons {
                await daemon.stop()
                daemon.upgrade()
                try await daemon.start()
                await stage.pause(seconds: 5, short: 2)
            }
        }
    )
}
