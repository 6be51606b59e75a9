/// Watches the answers of one app and environment for mass rejections (promise 9), and judges probes. Pure: time is an
/// argument.
///
/// A wrong key, host or topic makes APNs reject every token; a registry that is merely old has a few bad ones. Dead tokens
/// (410) are no rejections: after an activity they come by the thousands.
package struct AnswerWatch: Sendable {
    /// How long answers count.
    package static let window = Duration.seconds(60)
    /// With fewer answers nothing is decided.
    package static let leastAnswers = 100
    /// How many of a probe's pushes leave at most.
    package static let probeSize = 10

    /// Answers, and how many of them were rejections of tokens.
    package struct Count: Sendable, Hashable {
        package var answers: Int
        package var rejections: Int

        package init(answers: Int = 0, rejections: Int = 0) {
            self.answers = answers
            self.rejections = rejections
        }

        /// Whether more than 20 % are rejections.
        package var isBad: Bool { rejections * 5 > answers }

        /// Whether sending must halt.
        package var isExcessive: Bool { answers >= AnswerWatch.leastAnswers && isBad }

        static func += (left: inout Count, right: Count) {
            left.answers += right.answers
            left.rejections += right.rejections
        }

        static func -= (left: inout Count, right: Count) {
            left.answers -= right.answers
            left.rejections -= right.rejections
        }
    }

    private enum State: Sendable {
        case watching
        case probing(Count)
    }

    /// What was counted in one second; the oldest first.
    private var recent: [(second: Int64, count: Count)] = []
    private var total = Count()
    private var state = State.watching

    package init() {}

    /// Answers came. Returns what the window holds if sending must halt. `second` is that of any clock that only goes on.
    package mutating func observe(_ count: Count, at second: Int64) -> Count? {
        switch state {
        case .probing(var probe):
            probe += count
            state = .probing(probe)
            return nil
        case .watching:
            if recent.last?.second == second {
                recent[recent.count - 1].count += count
            } else {
                recent.append((second, count))
            }
            total += count
            let seen = self.count(at: second)
            return seen.isExcessive ? seen : nil
        }
    }

    /// What the window holds.
    package mutating func count(at second: Int64) -> Count {
        let kept = second - Self.window.components.seconds
        while let oldest = recent.first, oldest.second <= kept {
            total -= oldest.count
            recent.removeFirst()
        }
        return total
    }

    /// A few pushes are about to leave although sending stands still; their answers are counted apart.
    package mutating func beginProbe() {
        forget()
        state = .probing(Count())
    }

    /// What a probe came to.
    package enum ProbeVerdict: Sendable, Hashable {
        /// Tokens are taken again.
        case good
        case bad
        /// APNs has answered nothing: there was nothing to send, or it cannot be reached.
        case none
    }

    /// The probe's pushes are answered.
    package mutating func endProbe() -> ProbeVerdict {
        guard case .probing(let count) = state else { return .none }
        forget()
        if count.answers == 0 { return .none }
        return count.isBad ? .bad : .good
    }

    /// Sending was halted or goes on: what was counted before says nothing any more.
    package mutating func forget() {
        self = AnswerWatch()
    }

    /// How long to wait after a halt, or after so many probes that were bad. The first wait is as long as the window, so
    /// that no daemon remembers what led to the halt.
    package static func pause(afterProbes probes: Int) -> Duration {
        min(window * (1 << min(probes, 10)), .seconds(900))
    }
}
