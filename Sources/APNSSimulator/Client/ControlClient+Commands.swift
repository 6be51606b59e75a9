package import APITypes
import Foundation
import JSON

extension ControlClient {
    /// Creates phones from the fields of a ``PhonesRequest``, which the simulator checks. Returns a line of text about
    /// them.
    package func create(_ phones: ObjectWriter) async throws(SimulatorError) -> String {
        let answer = try await send("POST", "/phones", phones.json)
        let created = answer["created"]?.int64 ?? 0
        let first = answer["first"]?.string ?? "-"
        if created == 0 { return "No phone made: \(first) is there already" }
        if created == 1 { return "1 phone made: \(first)" }
        return "\(created) phones made: \(first) to \(answer["last"]?.string ?? "-")"
    }

    /// Sets the Tally that apps report to.
    package func connect(tallyURL: String, key: String) async throws(SimulatorError) {
        _ = try await send("PUT", "/tally", ["url": .string(tallyURL), "key": .string(key)])
    }

    /// Waits until Tally has accepted every report of every phone.
    ///
    /// - Returns: The number of reports that are pending at the limit, and the error of one of them.
    package func waitForReports(_ limit: Duration) async throws(SimulatorError) -> (pending: Int64, error: String?) {
        let end = ContinuousClock.now + limit
        while true {
            let reports = try await send("GET", "/summary")["reports"]
            let pending = reports?["pending"]?.int64 ?? 0
            guard pending > 0, ContinuousClock.now < end else { return (pending, reports?["last_error"]?.string) }
            // Only cancellation makes this throw, and the next request then throws, too.
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Carries out an action at phones. Returns their number.
    ///
    /// The action is the name of a ``PhoneAction/Kind``. Select phones by ids and by id prefixes; without both, it
    /// applies to all. `join` and `swipe-away` require the activity. `channelID` is Apple's id, for `join`.
    package func act(
        _ action: String,
        phones: [String],
        prefix: String?,
        activityID: String?,
        channelID: String?
    ) async throws(SimulatorError) -> Int64 {
        var fields = ObjectWriter()
        fields.add("action", action)
        if !phones.isEmpty { fields.add("phones", words: phones) }
        fields.add("prefix", prefix)
        fields.add("activity_id", activityID)
        fields.add("channel_id", channelID)
        let answer = try await send("POST", "/actions", ["actions": [fields.json]])
        return answer["phones"]?.int64 ?? 0
    }

    /// The JSON text of a GET: `/summary`, `/phones/{id}`, `/channels`, `/faults`.
    package func text(of path: String) async throws(SimulatorError) -> String {
        try await send("GET", path).text
    }

    /// What a phone shows, drawn as text.
    package func drawing(ofPhone id: String) async throws(SimulatorError) -> String {
        PhoneDrawing(phone: try await send("GET", "/phones/\(id)")).text
    }

    /// Compares the phones with the posts in a JSON Lines file. Repeats this until all phones are right or the time is
    /// over.
    package func report(postsFile: String, waiting limit: Duration) async throws(SimulatorError) -> ReplayReport {
        let posts: Data
        do {
            posts = try Data(contentsOf: URL(fileURLWithPath: postsFile))
        } catch {
            throw SimulatorError(.unreadable, "\(postsFile) cannot be read", cause: error)
        }
        let end = ContinuousClock.now + limit
        while true {
            let json = try await send("POST", "/report", bytes: [UInt8](posts))
            let report: ReplayReport
            do {
                report = try ReplayReport(json: json)
            } catch {
                throw SimulatorError(.badAnswer, "the simulator's report cannot be read", cause: error)
            }
            if report.isRight || ContinuousClock.now >= end { return report }
            // Throws only on cancellation, as above.
            try? await Task.sleep(for: .milliseconds(250))
        }
    }
}

extension ReplayReport {
    /// The report as JSON.
    package var jsonText: String { json.text }
}
