import Record
import APITypes
import HTTP1Server
import JSON
import NIOCore
import Registry
import ServiceLifecycle

/// A stream of server-sent events (HTML Living Standard, "Server-sent events") to one reader.
///
/// It ends when the reader disconnects, loses its permission, or is too slow, or when the daemon stops. The reader can
/// reconnect to any daemon with the last event id it received.
struct EventStream: Sendable {
    let service: any TallyService
    let filter: EventFilter
    /// The position from which the reader continues.
    let start: EventCursor
    let principal: Principal
    let terms: StreamTerms
    let times: Times

    struct Times: Sendable {
        /// How often the reader is sent its position, which also shows that the connection works.
        var heartbeat: Duration = .seconds(15)
        /// How long a write may wait for the reader.
        var patience: Duration = .seconds(30)
    }

    /// Writes until the stream ends. The reader may then reconnect immediately.
    @concurrent
    func write(to writer: any BodyWriter) async throws {
        let watch = WaitWatch(patience: times.patience)
        // A child task, so that the watch ends with the stream. The watch is the child because a writer must stay in
        // its task.
        async let watching: Void = watch.run(giveUp: terms.hangUp ?? {})
        var place = start
        var checked = ContinuousClock.now
        var text = "retry: 1000\n" + Self.mark(place)
        while true {
            watch.beginWaiting()
            try await writer.write(ByteBuffer(string: text))
            watch.endWaiting()
            guard let page = try await next(after: place) else { break }
            if checked.duration(to: .now) >= times.heartbeat {
                guard try await terms.authenticateAgain() == principal else { break }
                checked = .now
            }
            place = page.next
            text = page.events.isEmpty ? Self.mark(place) : page.events.map(Self.text).joined()
        }
        watch.end()
        await watching
    }

    /// The next page. Nil if the stream must end, because the daemon stops or cannot read events.
    private func next(after place: EventCursor) async throws -> EventPage? {
        do {
            return try await cancelWhenGracefulShutdown {
                try await service.record.nextEvents(after: place, matching: filter, within: times.heartbeat)
            }
        } catch is CancellationError {
            return nil
        } catch {
            guard service.problem(for: error) != nil else { throw error }
            return nil
        }
    }

    /// A position without an event. It dispatches nothing, but updates the reader's last event id.
    static func mark(_ place: EventCursor) -> String { ": \nid: \(place)\n\n" }

    /// One event as text. JSON has no line breaks outside strings, and escapes those within strings.
    static func text(_ event: EventRecord) -> String {
        "id: \(event.cursor)\nevent: \(event.kind)\ndata: \(event.resource.json.text)\n\n"
    }
}
