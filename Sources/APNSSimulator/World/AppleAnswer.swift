import JSON

/// A complete answer of Apple's.
package struct AppleAnswer: Sendable, Hashable {
    package var status: Int
    /// Names in lower case.
    package var headers: [Header]
    package var body: [UInt8]
    /// The `reason` in the body, nil for a yes.
    package var reason: String?

    /// One header field.
    package struct Header: Sendable, Hashable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }
}

/// What becomes of a request at its connection.
package struct Reaction: Sendable {
    /// The answer, or the lack of one.
    package enum Reply: Sendable, Hashable {
        case answer(AppleAnswer)
        case answerLater(AppleAnswer, milliseconds: Int64)
        /// The stream stays open for ever.
        case silence
        /// RST_STREAM with this error code.
        case reset(code: UInt32)
        /// The connection is cut without a word.
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
    /// A new limit of concurrent streams for the connection.
    package var streamLimit: Int?
}

extension Reaction.Farewell {
    /// Apple, Establishing a connection to APNs: a GOAWAY carries its reason as JSON.
    var debugData: [UInt8] {
        JSONValue.object(["reason": .string(reason)]).serialized()
    }
}
