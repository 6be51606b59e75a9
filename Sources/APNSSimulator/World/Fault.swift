package import ActivityModel

/// A fault that a test sets on purpose: which requests it hits, how often, and its effect.
package struct Fault: Sendable, Hashable {
    /// Selects requests. A nil field matches all.
    package struct Match: Sendable, Hashable {
        package var environment: APNSEnvironment?
        package var api: AppleAPI?
        /// Lower-case hex.
        package var token: String?
        /// The `apns-topic` of a device push, or the bundle id in the path.
        package var topic: String?
        package var channelID: String?
        /// The id of the phone that has the token.
        package var phone: DeviceID?
        /// The number of the connection, counted from 1 over all listeners.
        package var connection: Int?
        package var event: PushBody.Event?

        package init() {}
    }

    /// The effect on a request.
    package enum Effect: Sendable, Hashable {
        /// Not processed; this is the answer.
        case answer(APNSRefusal)
        /// Not processed, and never answered.
        case silence
        /// Processed, but never answered.
        case lostAnswer
        /// Processed, and answered this many milliseconds later.
        case delay(milliseconds: Int64)
        /// Not processed: RST_STREAM with REFUSED_STREAM, which the client may safely repeat.
        case refuseStream
        /// Not processed: RST_STREAM with this error code.
        case reset(code: UInt32)
        /// Processed, followed by a GOAWAY with this error code and reason. The connection then accepts no new streams.
        case goAway(code: UInt32, reason: String)
        /// Not processed: the connection closes.
        case dropConnection
        /// Processed. The connection then accepts only this many concurrent streams.
        case streamLimit(Int)
    }

    package var name: String
    package var match = Match()
    package var effect: Effect
    /// The number of matching requests to skip first.
    package var skip = 0
    /// The number of requests to hit; nil: no limit.
    package var count: Int?
    /// When the fault ends, in milliseconds since 1970; nil: never.
    package var until: Int64?
    /// The probability of hitting a matching request, from 0 to 1.
    package var probability = 1.0
}

/// The facts about a request that a fault can match.
struct FaultSubject {
    var environment: APNSEnvironment
    var api: AppleAPI
    var token: String?
    var topic: String?
    var channelID: String?
    var phone: DeviceID?
    var connection: Int
    var event: PushBody.Event?
}

/// The current faults, checked in the order in which they were set. The first that hits decides.
struct FaultTable {
    private(set) var faults: [Fault] = []
    /// The number of requests that each fault hit, by name, including faults that are used up.
    private(set) var hits: [String: Int] = [:]
    private var random: SeededRandom

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    /// Whether some fault depends on the payload, which must then be parsed before the rules run.
    var looksAtEvents: Bool { faults.contains { $0.match.event != nil } }

    var isEmpty: Bool { faults.isEmpty }

    /// Sets a fault. It replaces a fault of the same name.
    mutating func set(_ fault: Fault) {
        remove(named: fault.name)
        hits[fault.name] = 0
        faults.append(fault)
    }

    mutating func remove(named name: String) {
        faults.removeAll { $0.name == name }
    }

    mutating func removeAll() {
        faults.removeAll()
        hits.removeAll()
    }

    /// The effect on a request; nil if no fault hits it. `now` is in milliseconds since 1970.
    mutating func effect(on subject: FaultSubject, now: Int64) -> Fault.Effect? {
        guard !faults.isEmpty else { return nil }
        faults.removeAll { fault in fault.until.map { now >= $0 } ?? false }
        guard let index = faults.indices.first(where: { strikes($0, subject) }) else { return nil }
        let fault = faults[index]
        hits[fault.name, default: 0] += 1
        if let count = fault.count {
            faults[index].count = count - 1
            if count <= 1 {
                faults.remove(at: index)
            }
        }
        return fault.effect
    }

    private mutating func strikes(_ index: Int, _ subject: FaultSubject) -> Bool {
        guard faults[index].match.fits(subject) else { return false }
        if faults[index].skip > 0 {
            faults[index].skip -= 1
            return false
        }
        return faults[index].probability >= 1 || Double.random(in: 0..<1, using: &random) < faults[index].probability
    }
}

extension Fault.Match {
    fileprivate func fits(_ subject: FaultSubject) -> Bool {
        fits(environment, subject.environment) && fits(api, subject.api) && fits(token, subject.token)
            && fits(topic, subject.topic) && fits(channelID, subject.channelID) && fits(phone, subject.phone)
            && fits(connection, subject.connection) && fits(event, subject.event)
    }

    private func fits<Value: Equatable>(_ wanted: Value?, _ value: Value?) -> Bool {
        wanted == nil || wanted == value
    }
}
