import Foundation
import JSON

/// How the server carries out a statement, as its module `auto_explain` logs it.
package struct StatementPlan: Sendable {
    /// A place where a table is read.
    package struct Scan: Sendable, Hashable {
        package let table: String
        /// Whether neither a condition on an index nor a limit bounds what is read.
        package let isWhole: Bool
    }

    package let statement: String
    package let scans: [Scan]

    /// The tables that grow with the users of an installation, or with what they do.
    package static let growing: Set<String> = [
        "activities", "activity_app_versions", "audience_members", "audience_topics", "budget_ledger", "changes",
        "channels", "continuations", "devices", "events", "idempotency_keys", "pushes", "schedules", "segments",
        "start_tokens", "starts", "subscriptions", "timeline", "topic_follows",
    ]

    /// What a connection string has to contain after other options of the session.
    static let sessionOptions =
        "%20-csession_preload_libraries%3Dauto_explain%20-cauto_explain.log_min_duration%3D0"
        + "%20-cauto_explain.log_format%3Djson"

    /// Plans of what `body` has the server do by connections with ``sessionOptions``, at most three of each statement. No other
    /// test of the process may have such connections meanwhile.
    package static func logged(during body: () async throws -> Void) async throws -> [StatementPlan] {
        let log = try FileHandle(forReadingFrom: URL(filePath: await TestCluster.shared.log))
        defer { try? log.close() }  // it was only read
        try log.seekToEnd()
        try await body()
        var seen: [String: Int] = [:]
        var plans: [StatementPlan] = []
        var lines: [Substring] = []
        func end() throws {
            defer { lines = [] }
            // The statement comes first, so it tells repeated ones before anything is parsed.
            guard lines.count > 1, seen[String(lines[1]), default: 0] < 3 else { return }
            seen[String(lines[1]), default: 0] += 1
            plans.append(try StatementPlan(JSONValue.parse(Array(lines.joined(separator: "\n").utf8))))
        }
        var isPlan = false
        let text = String(decoding: try log.readToEnd() ?? Data(), as: UTF8.self)
        for line in text.split(separator: "\n") {
            if isPlan, line.hasPrefix("\t") {
                lines.append(line.dropFirst())
            } else {
                try end()
                isPlan = line.hasSuffix(" plan:")
            }
        }
        try end()
        return plans
    }

    private init(_ entry: JSONValue) {
        statement = entry["Query Text"]?.string ?? ""
        var scans: [Scan] = []
        Self.collect(entry["Plan"], isLimited: false, into: &scans)
        self.scans = scans
    }

    private static func collect(_ node: JSONValue?, isLimited: Bool, into scans: inout [Scan]) {
        guard let node else { return }
        let type = node["Node Type"]?.string ?? ""
        if let table = node["Relation Name"]?.string, type.hasSuffix("Scan") {
            // Below a bitmap is the scan of its index.
            let conditions = [node] + (node["Plans"]?.array ?? [])
            let isBound = conditions.contains { $0["Index Cond"] != nil || $0["TID Cond"] != nil }
            scans.append(Scan(table: table, isWhole: !isBound && !isLimited))
        }
        for child in node["Plans"]?.array ?? [] {
            collect(child, isLimited: isLimited || type == "Limit", into: &scans)
        }
    }
}
