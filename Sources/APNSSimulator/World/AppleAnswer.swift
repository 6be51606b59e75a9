import JSON

/// A complete answer of Apple.
package struct AppleAnswer: Sendable, Hashable {
    package var status: Int
    /// Names are in lower case.
    package var headers: [Header]
    package var body: [UInt8]
    /// The `reason` in the body; nil for a success.
    package var reason: String?

    package struct Header: Sendable, Hashable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }
}

/// What happens to a request and its connection.
package struct Reaction: Sendable {
    /// The answer, or another reaction.
    package enum Reply: Sendable, Hashable {
        case answer(AppleAnswer)
        case answerLater(AppleAnswer, milliseconds: Int64)
        /// No answer. The stream stays open.
        case silence
        /// RST_STREAM with this error code.
        case reset(code: UInt32)
        /// The connection closes without a GOAWAY.
        case drop
    }

    /// A GOAWAY to send after the reply.
    package struct Farewell: Sendable, Hashable {
        package var code: UInt32
        /// The `reason` in the JSON debug data.
        package var reason: String
    }

    package var reply: Reply
    package var farewell: Farewell?
    /// The new limit of concurrent streams on the connection.
    package var streamLimit: Int?
}

extension Reaction.Farewell {
    /// Apple, Establishing a connection to APNs: a GOAWAY contains its reason as JSON.
    var debugData: [UInt8] {
        JSONValue.object(["reason": .string(reason)]).serialized()
    }
}
