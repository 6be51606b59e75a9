package import APITypes
import ActivityModel
package import JSON

/// `POST /faults`: a fault, with a duration instead of an end time.
package struct FaultRequest: Sendable, Hashable {
    package var fault: Fault
    /// The fault ends after this many seconds; nil: never.
    package var seconds: Double?

    package init(_ fault: Fault, seconds: Double? = nil) {
        self.fault = fault
        self.seconds = seconds
    }

    /// The fault, starting at `now` (milliseconds since 1970).
    func fault(from now: Int64) -> Fault {
        var fault = fault
        fault.until = seconds.map { now + Int64($0 * 1000) }
        return fault
    }
}

extension FaultRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let name = reader.required("name", .string(length: 1...100))
        let match = reader.optional("match", .object(Fault.Match.self))
        let effect = reader.required("effect", .object(Fault.Effect.self))
        let skip = reader.optional("skip", .int.within(0...Int.max))
        let count = reader.optional("count", .int.within(1...Int.max))
        let seconds = reader.optional("seconds", .double.within(0...1e9))
        let probability = reader.optional("probability", .double.within(0...1))
        guard reader.finish(), let name, let effect else { return nil }
        self.init(
            Fault(
                name: name,
                match: match ?? Fault.Match(),
                effect: effect,
                skip: skip ?? 0,
                count: count,
                probability: probability ?? 1
            ),
            seconds: seconds
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("name", fault.name)
        fields.add("match", fault.match)
        fields.add("effect", fault.effect)
        fields.add("skip", fault.skip)
        fields.add("count", fault.count)
        fields.add("seconds", seconds)
        fields.add("probability", fault.probability)
        return fields.json
    }
}

extension Fault.Match: APIRequest {
    package init?(reader: inout ObjectReader) {
        self.init()
        environment = reader.optional("environment", .word(APNSEnvironment.self))
        api = reader.optional("api", .word(AppleAPI.self))
        token = reader.optional("token", .token)?.hex
        topic = reader.optional("topic", .string)
        channelID = reader.optional("channel_id", .string)
        phone = reader.optional("phone", .deviceID)
        connection = reader.optional("connection", .int)
        event = reader.optional("event", .word(PushBody.Event.self))
        guard reader.finish() else { return nil }
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("environment", environment?.rawValue)
        fields.add("api", api?.rawValue)
        fields.add("token", token)
        fields.add("topic", topic)
        fields.add("channel_id", channelID)
        fields.add("phone", phone?.rawValue)
        fields.add("connection", connection)
        fields.add("event", event?.rawValue)
        return fields.json
    }
}

extension Fault.Effect: APIRequest {
    private enum Kind: String, CaseIterable {
        case answer
        case silence
        case lostAnswer = "lost_answer"
        case delay
        case refuseStream = "refuse_stream"
        case reset
        case goAway = "go_away"
        case dropConnection = "drop_connection"
        case streamLimit = "stream_limit"
    }

    package init?(reader: inout ObjectReader) {
        guard let kind = reader.required("kind", .word(Kind.self)) else { return nil }
        let effect: Fault.Effect?
        switch kind {
        case .answer:
            let status = reader.required("status", .int.within(200...599))
            let reason = reader.required("reason", .string)
            let timestamp = reader.optional("timestamp_ms", .int64)
            effect = status.flatMap { status in
                reason.map { .answer(APNSRefusal(status: status, reason: $0, timestamp: timestamp)) }
            }
        case .silence: effect = .silence
        case .lostAnswer: effect = .lostAnswer
        case .delay:
            effect = reader.required("milliseconds", .int64.within(0...86_400_000)).map { .delay(milliseconds: $0) }
        case .refuseStream: effect = .refuseStream
        case .reset:
            effect = .reset(code: Self.code(reader.optional("code", .int.within(0...Int(UInt32.max))) ?? 2))
        case .goAway:
            let code = reader.optional("code", .int.within(0...Int(UInt32.max)))
            let reason = reader.optional("reason", .string)
            effect = .goAway(code: Self.code(code ?? 0), reason: reason ?? "Shutdown")
        case .dropConnection: effect = .dropConnection
        case .streamLimit:
            effect = reader.required("value", .int.within(0...100_000)).map { .streamLimit($0) }
        }
        guard reader.finish(), let effect else { return nil }
        self = effect
    }

    private static func code(_ number: Int) -> UInt32 { UInt32(truncatingIfNeeded: number) }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("kind", kind.rawValue)
        switch self {
        case .answer(let refusal):
            fields.add("status", refusal.status)
            fields.add("reason", refusal.reason)
            fields.add("timestamp_ms", refusal.timestamp)
        case .delay(let milliseconds): fields.add("milliseconds", milliseconds)
        case .reset(let code): fields.add("code", Int(code))
        case .goAway(let code, let reason):
            fields.add("code", Int(code))
            fields.add("reason", reason)
        case .streamLimit(let value): fields.add("value", value)
        case .silence, .lostAnswer, .refuseStream, .dropConnection: break
        }
        return fields.json
    }

    private var kind: Kind {
        switch self {
        case .answer: .answer
        case .silence: .silence
        case .lostAnswer: .lostAnswer
        case .delay: .delay
        case .refuseStream: .refuseStream
        case .reset: .reset
        case .goAway: .goAway
        case .dropConnection: .dropConnection
        case .streamLimit: .streamLimit
        }
    }
}
