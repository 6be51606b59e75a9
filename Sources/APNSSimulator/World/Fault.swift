package import ActivityModel

/// Something that goes wrong on purpose: whom it hits, how often, and what happens.
package struct Fault: Sendable, Hashable {
    /// Which requests it hits. What is nil is not looked at.
    package struct Match: Sendable, Hashable {
        package var environment: APNSEnvironment?
        package var api: AppleAPI?
        /// Lower-case hex.
        package var token: String?
        /// The `apns-topic` of a device push, or the bundle id of the path.
        package var topic: String?
        package var channelID: String?
        /// The id of the phone that the token belongs to.
        package var phone: DeviceID?
        /// The number of the connection, counted from 1 over all listeners.
        package var connection: Int?
        package var event: PushBody.Event?

        package init() {}
    }

    /// What happens to a request that it hits.
    package enum Effect: Sendable, Hashable {
        /// Nothing is processed; this is the answer.
        case answer(Refusal)
        /// Nothing is processed and no answer ever comes.
        case silence
        /// Processed, and no answer ever comes.
        case lostAnswer
        /// Processed, and answered this many milliseconds later.
        case delay(milliseconds: Int64)
        /// Not processed: RST_STREAM with REFUSED_STREAM, which is safe to send again.
        case refuseStream
        /// Not processed: RST_STREAM with this error code.
        case reset(code: UInt32)
        /// Processed; then a GOAWAY with this error code and reason, after which new streams are not taken.
        case goAway(code: UInt32, reason: String)
        /// Not processed: the connection is cut.
        case dropConnection
        /// Processed; then the connection takes only so many streams at a time.
        case streamLimit(Int)
    }

    package var name: String
    package var match: Match
    package var effect: Effect
    /// Requests that it lets pass first.
    package var skip: Int
    /// Requests that it hits before it is spent; nil: no end.
    package var count: Int?
    /// Milliseconds since 1970 at which it is over; nil: never.
    package var until: Int64?
    /// Of 1: how likely a matching request is hit.
    package var probability: Double

    package init(
        name: String,
        match: Match = Match(),
        effect: Effect,
        skip: Int = 0,
        count: Int? = nil,
        until: Int64? = nil,
        probability: Double = 1
    ) {
        self.name = name
        self.match = match
        self.effect = effect
        self.skip = skip
        self.count = count
        self.until = until
        self.probability = probability
    }
}

/// What a fault may look at in a request.
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

/// The faults in force, tried in the order in which they were set. The first that hits speaks.
struct FaultTable {
    private(set) var faults: [Fault] = []
    /// How many requests each fault hit, by name, spent ones included.
    private(set) var hits: [String: Int] = [:]
    private var random: SeededRandom

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    /// True if some fault looks at the payload, which is then read before the rules judge.
    var looksAtEvents: Bool { faults.contains { $0.match.event != nil } }

    var isEmpty: Bool { faults.isEmpty }

    /// Sets a fault; one of the same name is replaced.
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

    /// What befalls a request, if anything. `now`: milliseconds since 1970.
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
