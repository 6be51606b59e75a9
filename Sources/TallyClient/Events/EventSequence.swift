package import APITypes
import JSON
import NIOCore

/// Live events, each once and without gaps. It continues when the server restarts or when another daemon takes over.
package struct EventSequence: AsyncSequence, Sendable {
    package typealias Element = EventResource
    package typealias Failure = ClientError

    let client: TallyClient
    let query: EventQuery
    /// The id of the last event that was read; nil: start with new events.
    let place: String?
    /// The longest silence of the server. It sends a heartbeat every 15 s.
    let patience: Duration

    package func makeAsyncIterator() -> EventReader {
        EventReader(client: client, query: query, place: place, patience: patience)
    }
}

/// One reader of events. Whenever its connection ends, it opens another one after the last event that it received.
package struct EventReader: AsyncIteratorProtocol {
    private let client: TallyClient
    private let query: EventQuery
    private let patience: Duration
    private var place: String?
    private var stream: HTTPStream?
    private var parser = EventStreamParser()
    private var arrived: ArraySlice<EventResource> = []
    private var outage: Outage?

    /// How long the server has been silent.
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

    /// Waits for the next event; nil if the task was cancelled. If the server is unavailable, it retries for the
    /// duration of one call's deadline.
    ///
    /// - Throws: The server's refusal, or the reason why it is unavailable.
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

    /// Opens the stream, or reads its next bytes.
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
                // A server that stops ends its streams.
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
    /// - Throws: `error` if the deadline is too near, or if the error is final.
    private mutating func rest(after error: ClientError) async throws(ClientError) {
        guard let retry = client.configuration.retry else { throw error }
        var outage = outage ?? Outage()
        outage.failures += 1
        self.outage = outage
        let jitter = Double.random(in: 0...1)
        let wait = retry.delay(afterFailures: outage.failures, jitter: jitter, retryAfter: error.retryAfter)
        guard outage.began.duration(to: .now) + wait < client.configuration.deadline else { throw error }
        try? await ContinuousClock().sleep(for: wait)  // throws only on cancellation, which the caller sees
    }
}
