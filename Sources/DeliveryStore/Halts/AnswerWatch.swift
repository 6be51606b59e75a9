/// Watches the answers of one app and environment for mass rejections (promise 9), and judges probes. Pure: time is an
/// argument.
///
/// A wrong key, host or topic makes APNs reject every token; a registry that is merely old has a few bad ones. Dead
/// tokens (410) are no rejections: after an activity they come by the thousands. Only the last rejection of a device
/// counts: one phone that keeps reporting new wrong tokens does not make a mass. A token without a known device counts
/// like a device, so many pushes to one wrong token make none, either.
package struct AnswerWatch: Sendable {
    /// How long answers count.
    package static let window = Duration.seconds(60)
    /// Fewer answers decide nothing.
    package static let leastAnswers = 100
    /// How many devices the watch tells apart. More of them in a minute are a mass in any case.
    package static let mostDevices = 10_000

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

    /// The counts of one second.
    private struct Moment: Sendable {
        let second: Int64
        var count = Count()
        /// The devices whose rejection counts in this second. A later rejection of the device counts instead.
        var rejected: [Int64] = []
    }

    /// The oldest first.
    private var recent: [Moment] = []
    private var total = Count()
    /// In which second the last rejection of a device was counted.
    private var lastRejections: [Int64: Int64] = [:]
    private var isProbing = false

    package init() {}

    /// Takes in answers. Returns the counts of the window if sending must halt. The count is of all answers. `devices`
    /// are the known devices that were rejected, each once or more, and negative numbers for tokens without a device.
    /// The second is that of any clock that only moves forward.
    package mutating func observe(_ count: Count, of devices: [Int64] = [], at second: Int64) -> Count? {
        letGo(before: second)
        if recent.last?.second != second { recent.append(Moment(second: second)) }
        recent[recent.count - 1].count += count
        total += count
        for device in devices { takeRejection(of: device, at: second) }
        return !isProbing && total.isExcessive ? total : nil
    }

    /// The rejection that a device had before in the window does not count any more.
    private mutating func takeRejection(of device: Int64, at second: Int64) {
        let earlier = lastRejections[device]
        if let earlier, let place = recent.firstIndex(where: { $0.second == earlier }) {
            let one = Count(answers: 1, rejections: 1)
            recent[place].count -= one
            total -= one
        }
        guard earlier != second, earlier != nil || lastRejections.count < Self.mostDevices else { return }
        lastRejections[device] = second
        recent[recent.count - 1].rejected.append(device)
    }

    /// The counts of the window; zero during a probe.
    package mutating func count(at second: Int64) -> Count {
        letGo(before: second)
        return isProbing ? Count() : total
    }

    private mutating func letGo(before second: Int64) {
        let kept = second - Self.window.components.seconds
        while let oldest = recent.first, oldest.second <= kept {
            total -= oldest.count
            for device in oldest.rejected where lastRejections[device] == oldest.second { lastRejections[device] = nil }
            recent.removeFirst()
        }
    }

    /// A few pushes are about to leave although sending is halted. Their answers are counted separately.
    package mutating func beginProbe() {
        forget()
        isProbing = true
    }

    /// The result of a probe.
    package enum ProbeVerdict: Sendable, Hashable {
        /// Tokens are taken again.
        case good
        case bad
        /// One token was rejected, which may be the only bad one.
        case unclear
        /// APNs has answered nothing: there was nothing to send, or it cannot be reached.
        case none
    }

    /// The probe's pushes are answered.
    package mutating func endProbe() -> ProbeVerdict {
        guard isProbing else { return .none }
        let count = total
        forget()
        if count.answers == 0 { return .none }
        if !count.isBad { return .good }
        return count.rejections == 1 ? .unclear : .bad
    }

    /// Sending was halted or resumed: earlier counts say nothing any more.
    package mutating func forget() {
        self = AnswerWatch()
    }

    /// How long to wait after a halt, or after a number of bad probes. The first wait is as long as the window, so that
    /// no daemon remembers what led to the halt.
    package static func pause(afterProbes probes: Int) -> Duration {
        min(window * (1 << min(probes, 10)), .seconds(900))
    }

    /// How long to wait if the last of a number of probes was unclear. It grows three probes later: one bad token
    /// hardly delays the others, and where each probe meets another bad one, the probes become rare.
    package static func pause(afterUnclearProbes probes: Int) -> Duration { pause(afterProbes: max(probes - 3, 0)) }
}
