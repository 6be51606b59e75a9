import ActivityModel
import JSON
import Logging
import Postgres
import ServiceLifecycle

/// Writes what ``Timeline`` has taken down, in batches by COPY, and the events that sum it up; what is left at the
/// shutdown last of all.
struct TimelineWriter: Service, CustomStringConvertible {
    let timeline: Timeline
    let database: Database
    let logger: Logger

    /// Before each batch, so that what happens close together is written together, and no push waits beside the writing
    /// of those that left a moment ago.
    private static let pause = Duration.milliseconds(250)
    /// Before the next after a batch that could not be written.
    private static let longPause = Duration.seconds(2)

    var description: String { "timeline-writer" }

    func run() async {
        var pause = Self.pause
        for await _ in timeline.arrivals.cancelOnGracefulShutdown() {
            await cancelWhenGracefulShutdown { [pause] in
                try? await Task.sleep(for: pause)  // throws only when cancelled
            }
            pause = await hasWritten() ? Self.pause : Self.longPause
        }
        _ = await hasWritten()
    }

    private func hasWritten() async -> Bool {
        do {
            try await write()
            return true
        } catch {
            logger.warning("cannot write the timeline", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Writes everything that waits. What fails waits on, unless the server refuses it for what it is.
    func write() async throws {
        let waiting = timeline.take()
        guard !waiting.isEmpty else { return }
        do {
            try await store(waiting)
        } catch let error as PostgresError where error.isAboutRows {
            timeline.lose(waiting)
            throw error
        } catch {
            timeline.giveBack(waiting)
            throw error
        }
    }

    private func store(_ waiting: Timeline.Waiting) async throws {
        let lost = waiting.lost.sorted { $0.key < $1.key }.map { activity, count in
            var row = TimelineRow(.lost, activityKey: activity)
            row.counts = ["rows": count]
            return row
        }
        let rows = waiting.rows + lost
        let devices = Set(rows.compactMap(\.deviceKey)).sorted()
        let kept = try await database.withTransaction { connection in
            let results = try await connection.pipeline([
                // Else what a statement costs would hang on how large the tables are.
                .planningOnce, TimelineErasure.exclusion(isForWriter: true),
                "SELECT device_key FROM devices WHERE device_key = ANY(\(devices))",
            ])
            let living = Set(try results[2].decoded(as: Int64.self))
            let clock = try await DatabaseMoment.read(on: connection)
            let kept = rows.filter { $0.deviceKey.map(living.contains) ?? true }
            try await connection.copyIn(into: "timeline", columns: Self.columns, kept) { row, fields in
                row.encode(into: &fields, clock)
            }
            let events =
                waiting.answers.map { subject, pushes in pushes.event(of: subject) }
                + waiting.droppedAlerts.map { alert, phones in alert.event(phones: phones) }
            try await EventRows.copy(events, at: clock.time(of: .now), on: connection)
            return kept
        }
        if logger.logLevel <= .debug { AnswerLog(waiting.answers).write(kept, to: logger) }
    }

    private static let columns = [
        "at", "kind", "activity_key", "device_key", "segment", "event", "revision", "priority", "outcome", "status",
        "reason", "apns_id", "unique_id", "latency", "first_device", "last_device", "counts",
    ]
}

extension TimelineRow {
    /// In the order of ``TimelineWriter/columns``.
    fileprivate func encode(into fields: inout CopyRow, _ clock: DatabaseMoment) {
        fields.append(clock.time(of: recordedAt))
        fields.append(kind.rawValue)
        fields.append(activityKey)
        fields.append(deviceKey)
        fields.append(segment)
        fields.append(event?.rawValue)
        fields.append(revision)
        fields.append(priority.map { Int16($0.rawValue) })
        fields.append(outcome)
        fields.append(status.map { Int16(clamping: $0) })
        fields.append(reason)
        fields.append(apnsID)
        fields.append(uniqueID)
        fields.append(latency)
        fields.append(range?.lowerBound)
        fields.append(range?.upperBound)
        fields.append(counts.map { JSONText(Self.json($0)) })
    }

    private static func json(_ counts: [String: Int]) -> [UInt8] {
        let entries = counts.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.number(JSONNumber($0.value))) }
        return JSONValue.object(JSONObject(entries)).serialized()
    }
}

extension PostgresError {
    /// Whether the same rows would be refused again: bad data, a broken constraint, a column that is not there.
    fileprivate var isAboutRows: Bool {
        ["22", "23", "42"].contains { sqlState?.hasPrefix($0) ?? false }
    }
}
