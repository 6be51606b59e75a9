import APITypes
import Hummingbird
import JSON
import NIOCore
import Orchestrator
import ServiceLifecycle

/// Server-sent events (HTML Living Standard, "Server-sent events") to one reader, until it goes, may not read any more,
/// takes nothing for too long, or the daemon stops. Whatever ends it, the reader goes on elsewhere with the last id
/// that it saw.
struct EventStream: Sendable {
    let service: any TallyService
    let filter: EventFilter
    /// What the reader has read already.
    let start: EventCursor
    let principal: Principal
    let terms: StreamTerms
    let times: Times

    struct Times: Sendable {
        /// So often a reader hears that it is still connected, and how far it has come.
        var heartbeat: Duration = .seconds(15)
        /// How long a reader may take nothing that is written.
        var patience: Duration = .seconds(30)
    }

    /// Writes until the stream is over. A reader may come again at once.
    @concurrent
    func write(to writer: inout any ResponseBodyWriter) async throws {
        let watch = WriteWatch(patience: times.patience)
        // Structured, so that the watch ends with the stream; it cannot be the one that writes, which a writer forbids.
        async let watching: Void = watch.run(hangUp: terms.hangUp ?? {})
        var place = start
        var checked = ContinuousClock.now
        var text = "retry: 1000\n" + Self.mark(place)
        while true {
            watch.beginWriting()
            try await writer.write(ByteBuffer(string: text))
            watch.endWriting()
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
        try await writer.finish(nil)
    }

    /// Nil when there is nothing more to say: the daemon stops, or cannot read on.
    private func next(after place: EventCursor) async throws -> EventPage? {
        do {
            return try await cancelWhenGracefulShutdown {
                try await service.nextEvents(after: place, matching: filter, within: times.heartbeat)
            }
        } catch is CancellationError {
            return nil
        } catch {
            guard service.problem(for: error) != nil else { throw error }
            return nil
        }
    }

    /// A place without an event: it dispatches nothing, and the reader's last event id moves on.
    static func mark(_ place: EventCursor) -> String { ": \nid: \(place)\n\n" }

    /// JSON has no line breaks outside strings, and in strings they are escaped.
    static func text(_ event: EventRecord) -> String {
        "id: \(event.cursor)\nevent: \(event.kind)\ndata: \(event.resource.json.text)\n\n"
    }
}
