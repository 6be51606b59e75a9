import APITypes
import ActivityModel
import Cryptography
import JSON
import Logging
import Metrics
import Postgres
import Record
import Store

/// Delivers to one webhook, message after message, in the order of events.
struct WebhookWorker: Sendable {
    let webhooks: Webhooks
    let sender: any WebhookSender
    let key: Int64
    /// How long it waits for new events.
    var patience = Duration.seconds(60)
    /// Whether it may still send. Asked before each message.
    var mayGoOn: @Sendable () -> Bool = { true }

    /// Delivers until there is nothing to do, a request fails, or somebody else has the webhook.
    func run() async throws {
        guard var webhook = try await webhooks.rows.begin(key) else { return }
        let endpoint = sender.endpoint(at: webhook.url)
        var ahead = Ahead()
        while mayGoOn(), !Task.isCancelled {
            guard let batch = try await nextBatch(&webhook, &ahead) else { return }
            guard let last = batch.events.last else {
                // Nothing that this webhook wants, or retention has deleted it.
                let place = webhook.message?.end ?? batch.next
                guard try await move(&webhook, to: place, at: nil, delivered: false) else { return }
                if batch.isEnd { return }
                continue
            }
            let answer = await post(batch.events, of: webhook, to: endpoint)
            // A request that this daemon broke off says nothing about the receiver.
            if Task.isCancelled, case .failed = answer { return }
            switch decision(answer, webhook) {
            case .delivered:
                count("delivered", events: batch.events.count)
                let place = webhook.message?.end ?? last.cursor
                ahead.isAnswering = true
                let next = ahead.message(of: webhook.batchSize)
                guard try await move(&webhook, to: place, at: last.at, delivered: true, next) else { return }
            case .retry(let pause, let error):
                count("failed")
                // The first of a row: a daemon whose settings allow less than those of the others fails alone.
                if webhook.failures == 0 {
                    webhooks.store.logger.warning(
                        "a request to a webhook failed",
                        metadata: ["app": "\(webhook.app)", "webhook": "\(webhook.id)", "error": "\(error)"]
                    )
                }
                return try await webhooks.rows.postpone(webhook, by: pause, error: error)
            case .pause(let reason, let error):
                count("failed")
                webhooks.store.logger.warning(
                    "a webhook is paused",
                    metadata: ["app": "\(webhook.app)", "webhook": "\(webhook.id)", "reason": "\(reason.rawValue)"]
                )
                return try await webhooks.rows.pause(webhook, reason, error: error)
            }
        }
    }

    // MARK: Reading

    private struct Batch {
        var events: [EventRecord] = []
        /// The place of the next page.
        var next: EventCursor
        /// Whether nothing came during the whole patience.
        var isEnd = false
    }

    /// Events that were read and are in no message that has left.
    private struct Ahead {
        var events: [EventRecord] = []
        /// Whether the receiver has accepted a message. Before that only one is read: who waits for a dead receiver should
        /// hold little in memory.
        var isAnswering = false

        /// A new message of the first events; nil if there is none.
        func message(of size: Int) -> WebhookMessage? {
            events.prefix(size).last.map { WebhookMessage(id: WebhookWorker.newID(), end: $0.cursor) }
        }

        /// The events of a message, if they were read ahead.
        mutating func take(_ message: WebhookMessage) -> [EventRecord] {
            let taken = Array(events.prefix { $0.cursor <= message.end })
            events.removeFirst(taken.count)
            return taken
        }
    }

    /// The events of the message that is on its way, or of a new one, which it stores first; nil: the worker stops.
    private func nextBatch(_ webhook: inout DueWebhook, _ ahead: inout Ahead) async throws -> Batch? {
        if let message = webhook.message {
            let read = ahead.take(message)
            if !read.isEmpty { return Batch(events: read, next: message.end) }
            return try await events(of: webhook, until: message.end)
        }
        let page = try await webhooks.record.feed.page(
            after: webhook.place,
            matching: webhook.filter,
            limit: ahead.isAnswering ? EventStore.scanned : webhook.batchSize,
            until: .now + patience
        )
        ahead.events = page.events
        guard let message = ahead.message(of: webhook.batchSize) else { return Batch(next: page.next, isEnd: true) }
        guard try await webhooks.rows.prepare(webhook, message) else { return nil }
        webhook.message = message
        return Batch(events: ahead.take(message), next: message.end)
    }

    /// The events of a message that may have been sent before, read again.
    private func events(of webhook: DueWebhook, until end: EventCursor) async throws -> Batch {
        var batch = Batch(next: webhook.place)
        while batch.next < end {
            let page = try await webhooks.record.events.page(
                after: batch.next,
                matching: webhook.filter,
                limit: webhook.batchSize
            )
            batch.events += page.events.prefix { $0.cursor <= end }
            // After a restore the order ends earlier than it did.
            if page.isLast || page.next <= batch.next { break }
            batch.next = page.next
        }
        return batch
    }

    /// Stores the new place, and with it the message that is sent next: one commit for each message.
    private func move(
        _ webhook: inout DueWebhook,
        to place: EventCursor,
        at time: Instant?,
        delivered: Bool,
        _ next: WebhookMessage? = nil
    ) async throws -> Bool {
        guard try await webhooks.rows.advance(webhook, to: place, at: time, delivered: delivered, next) else {
            return false
        }
        webhook.place = place
        webhook.message = next
        return true
    }

    fileprivate static func newID() -> String { "msg_" + Base64URL.encode(SecureRandom.bytes(18)) }

    // MARK: Sending

    /// A body as Standard Webhooks advises. A repeat has the same bytes.
    static func body(_ events: [EventRecord], of webhook: DueWebhook) -> [UInt8] {
        let body: JSONObject = [
            "type": "tally.events",
            "timestamp": .string((events.last?.at ?? Instant(unixSeconds: 0)).description),
            "data": [
                "bundle_id": .string(webhook.app.rawValue), "webhook_id": .string(webhook.id.rawValue),
                "events": .array(events.map(\.resource.json)),
            ],
        ]
        return JSONValue.object(body).serialized()
    }

    private func post(
        _ events: [EventRecord],
        of webhook: DueWebhook,
        to endpoint: any WebhookEndpoint
    ) async -> WebhookAnswer {
        let body = Self.body(events, of: webhook)
        let now: Int64
        do {
            now = Instant(try await webhooks.clock.now()).unixSeconds
        } catch {
            return .failed("the database is away")
        }
        let headers = webhook.secret.headers(id: webhook.message?.id ?? "", unixSeconds: now, body: body)
        return await endpoint.post(body, headers: headers)
    }

    private func decision(_ answer: WebhookAnswer, _ webhook: DueWebhook) -> WebhookRetries.Decision {
        WebhookRetries.decision(
            answer,
            failures: webhook.failures,
            failingFor: webhook.failingFor,
            jitter: webhooks.store.settings.jitter()
        )
    }

    private func count(_ result: String, events: Int = 0) {
        Counter(label: "tally_webhook_requests_total", dimensions: [("result", result)]).increment()
        if events > 0 { Counter(label: "tally_webhook_events_total").increment(by: events) }
    }
}
