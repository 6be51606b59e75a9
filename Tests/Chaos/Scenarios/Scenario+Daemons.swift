import Glibc
import SystemSupport

extension Scenario {
    static let daemonScenarios = [
        Scenario(
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
    ]
}
