package import APITypes
import JSON
import NIOCore

/// Events as they happen, each once and without a gap: also over restarts of the server, and from one daemon to
/// another.
package struct EventSequence: AsyncSequence, Sendable {
    package typealias Element = EventResource
    package typealias Failure = ClientError

    let client: TallyClient
    let query: EventQuery
    /// The id of the last event that was read; nil: from now on.
    let place: String?
    /// How long the server may say nothing. It sends a sign of life every 15 s.
    let patience: Duration

    package func makeAsyncIterator() -> EventReader {
        EventReader(client: client, query: query, place: place, patience: patience)
    }
}

/// One reader of events: a connection that is opened again, behind the last event that came, whenever it ends.
package struct EventReader: AsyncIteratorProtocol {
    private let client: TallyClient
    private let query: EventQuery
    private let patience: Duration
    private var place: String?
    private var stream: HTTPStream?
    private var parser = EventStreamParser()
    private var arrived: ArraySlice<EventResource> = []
    private var outage: Outage?

    /// How long there has been no word from the server.
    private struct Outage {
        var failures = 0
        var began = ContinuousClock.now
    }

    fileprivate init(client: TallyClient, query: EventQuery, place: String?, patience: Duration) {
        self.client = client
        self.query = query
        self.place = place
        self.patience = patience
    }

    /// The next event, as soon as there is one; nil if the task was cancelled. A server that is away is tried again for
    /// as long as one call of the client may take.
    ///
    /// - Throws: What the server refuses, and what keeps it away.
    package mutating func next(
        isolation: isolated (any Actor)? = #isolation
    ) async throws(ClientError) -> EventResource? {
        while true {
            if let event = arrived.popFirst() { return event }
            let failure: ClientError
            do throws(ClientError) {
                try await readOn()
                continue
            } catch {
                failure = error
            }
            if failure.code == .cancelled { return nil }
            guard failure.isRetryable else { throw failure }
            try await rest(after: failure)
            if Task.isCancelled { return nil }
        }
    }

    /// Opens the stream, or reads what comes next on it.
    private mutating func readOn() async throws(ClientError) {
        var call = APICall.get("/v1/events", query: query.filters)
        guard let stream else {
            call.accept = "text/event-stream"
            call.lastEventID = place
            stream = try await client.open(call)
            parser = EventStreamParser()
            return
        }
        do {
            guard let bytes = try await stream.nextBytes(within: patience) else {
                // A server that stops ends its answers.
                throw HTTPFailure.interrupted(ChannelError.eof)
            }
            outage = nil
            for message in try parser.take(bytes.readableBytesView) {
                if let data = message.data { arrived.append(try EventResource(json: JSONValue(parsing: data))) }
                place = message.id ?? place
            }
        } catch let failure as HTTPFailure {
            self.stream = nil
            throw client.clientError(failure, of: call)
        } catch {
            self.stream = nil
            throw ClientError(code: .badAnswer, detail: "an event cannot be read", cause: error)
        }
    }

    /// Waits before the next try.
    ///
    /// - Throws: `error` if there is no time left, or the first failure is final.
    private mutating func rest(after error: ClientError) async throws(ClientError) {
        guard let retry = client.configuration.retry else { throw error }
        var outage = outage ?? Outage()
        outage.failures += 1
        self.outage = outage
        let jitter = Double.random(in: 0...1)
        let wait = retry.delay(afterFailures: outage.failures, jitter: jitter, retryAfter: error.retryAfter)
        guard outage.began.duration(to: .now) + wait < client.configuration.deadline else { throw error }
        try? await ContinuousClock().sleep(for: wait)  // throws only when cancelled, which the caller sees
    }
}
