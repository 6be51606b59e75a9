package import APITypes
package import ActivityModel
import JSON
import NIOCore

/// One request to `…/ingest`: operations go out, and results come back in their order, at the same time.
package struct IngestConnection: Sendable {
    private let stream: HTTPStream
    private let call: APICall
    private let client: TallyClient

    fileprivate init(_ stream: HTTPStream, _ call: APICall, _ client: TallyClient) {
        self.stream = stream
        self.call = call
        self.client = client
    }

    /// Sends lines, each with a line feed at its end. Returns when they are handed to the system. It may wait for the
    /// server, which reads no faster than it answers, and answers no faster than it is read.
    package func send(_ lines: [[UInt8]]) async throws(ClientError) {
        var bytes = ByteBuffer()
        for line in lines {
            bytes.writeBytes(line)
            bytes.writeString("\n")
        }
        do {
            try await stream.send(bytes)
        } catch {
            throw client.clientError(Task.isCancelled ? .cancelled : .interrupted(error), of: call)
        }
    }

    /// Says that no more lines come.
    package func finish() { stream.endBody() }

    /// Breaks off without a word.
    package func hangUp() { stream.hangUp() }

    /// The results, in the order of the lines. Ends if the server ended the stream.
    package var answers: IngestAnswers { IngestAnswers(connection: self) }

    fileprivate func nextBytes() async throws(ClientError) -> ByteBuffer? {
        do throws(HTTPFailure) {
            return try await stream.nextBytes(within: TallyClient.longestSilence)
        } catch {
            throw client.clientError(error, of: call)
        }
    }
}

/// The results of a stream as they arrive.
package struct IngestAnswers: AsyncSequence, AsyncIteratorProtocol {
    package typealias Failure = ClientError

    fileprivate let connection: IngestConnection
    private var bytes = ByteBuffer()

    fileprivate init(connection: IngestConnection) { self.connection = connection }

    package func makeAsyncIterator() -> IngestAnswers { self }

    /// The next result; nil if the server ended the stream.
    package mutating func next(
        isolation: isolated (any Actor)? = #isolation
    ) async throws(ClientError) -> BatchResult? {
        while true {
            if let end = bytes.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
                let line = bytes.readBytes(length: end - bytes.readerIndex) ?? []
                bytes.moveReaderIndex(forwardBy: 1)
                if line.isEmpty { continue }
                do {
                    return try BatchResult(json: try JSONValue.parse(line))
                } catch {
                    throw ClientError(code: .badAnswer, detail: "a result cannot be read", cause: error)
                        .mayHaveArrived()
                }
            }
            guard let more = try await connection.nextBytes() else { return nil }
            bytes.discardReadBytes()
            bytes.writeImmutableBuffer(more)
        }
    }
}

extension TallyClient {
    /// How long a stream waits for an answer. The server ends a stream that is silent, before this.
    static let longestSilence = Duration.seconds(120)

    /// Opens a stream of operations. What it leaves unanswered at its end is to be sent again;
    /// ``ingest(_:_:window:answered:)`` does that.
    package func openIngest(_ app: BundleID) async throws(ClientError) -> IngestConnection {
        let path: APIPath = "/v1/apps/\(app)/ingest"
        var call = APICall(method: "POST", path: path.text)
        call.accept = "application/x-ndjson"
        call.streamedBody = "application/x-ndjson"
        return IngestConnection(try await open(call), call, self)
    }
}
