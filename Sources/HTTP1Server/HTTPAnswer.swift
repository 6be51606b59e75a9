package import HTTPTypes
package import NIOCore

/// The answer to a request.
package struct HTTPAnswer: Sendable {
    /// What follows the head.
    package enum Body: Sendable {
        case bytes(ByteBuffer)
        /// Of unknown length. The closure writes it; an error that it throws breaks the connection off.
        case stream(@Sendable @concurrent (any BodyWriter) async throws -> Void)
        /// Nothing, in answer to `HEAD`. The fields are those of the answer to `GET`.
        case none
    }

    package let status: HTTPResponse.Status
    package var headers: HTTPFields
    package private(set) var body: Body

    package init(status: HTTPResponse.Status, headers: HTTPFields = [:], body: Body = .bytes(ByteBuffer())) {
        self.status = status
        self.headers = headers
        self.body = body
        if case .bytes(let bytes) = body, !headers.contains(.contentLength) {
            self.headers[.contentLength] = String(bytes.readableBytes)
        }
    }

    /// The same answer to `HEAD`.
    package var withoutBody: HTTPAnswer {
        var answer = self
        answer.body = .none
        return answer
    }
}

/// Takes the parts of a streamed body.
package protocol BodyWriter: Sendable {
    /// Returns when the part has been handed to the system, which may wait for the reader.
    func write(_ part: ByteBuffer) async throws
}
