import APNSTransport
import Postgres

/// What must hold of the pauses between tries at the end of every run.
extension Universe {
    /// How many tries in a minute the pauses allow, each half of its time: after 0, 0.5, 1.5, 3.5, 7.5, 15.5, 30.5 and
    /// 45.5 s.
    private static let mostTriesInARow = 8
    /// A destination fails in its ring first, and then alone. An end cuts one pause short.
    private static let mostTries = 2 * mostTriesInARow + 1

    /// Promise 2: whatever is accepted meanwhile, what fails is tried after pauses that double.
    func checkPace() throws {
        // A clock that is set forth ends pauses.
        guard outage != nil, !clockSteps.contains(where: { $0.by > 0 }) else { return }
        let (sent, broken) = apple.with { ($0.sent, $0.brokenTurns) }
        for (target, tries) in Dictionary(grouping: sent.filter { $0.outcome.isRefusal }, by: Target.init) {
            // Nobody knows what was stored of a turn that was broken off; so another try follows.
            let known = tries.filter { !broken.contains($0.turn.number) }
            let most = Self.mostTries + Set(tries.map(\.turn.number)).intersection(broken).count
            let times = known.map(\.uptime).sorted()
            for (first, last) in zip(times, times.dropFirst(most)) where last - first < 60_000 {
                throw BrokenPromise(2, "\(target.destination) was tried more than \(most) times within a minute")
            }
        }
    }
}

/// What has a pause of its own. A start has one for each activity, whatever becomes of others to the same phone.
private struct Target: Hashable {
    let destination: String
    /// The match that is started; nil for anything but a start.
    let start: String?

    init(_ sent: Apple.Sent) {
        destination = sent.destination
        start = sent.push.event == "start" ? sent.push.content?.match : nil
    }
}

extension PushOutcome {
    /// Whether APNs has not taken it for a reason that passes.
    fileprivate var isRefusal: Bool {
        switch self.class {
        case .retry, .notSent: true
        case .accepted, .tokenDead, .tokenRejected, .channelGone, .requestInvalid, .credential, .unknown: false
        }
    }
}
