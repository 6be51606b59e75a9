import APITypes
import Foundation
import SystemSupport
import TestSupport
import Testing

/// What a daemon serves under `/metrics` after it has done some of everything.
@Suite("The metrics that are served")
struct MetricsTests {
    @Test("They are served without a key where the settings say so, and nothing else is")
    func ownListener() async throws {
        try await TallySystem.with { system in
            let url = try #require(URL(string: system.url))
            let api = HTTPCaller(base: system.url)
            #expect(try await api.send("GET", "/metrics").status == 401)
            let settings = [
                "TALLY_METRICS_HOST": url.host() ?? "", "TALLY_METRICS_PORT": "0", "TALLY_LOG_LEVEL": "info",
            ]
            let other = try await system.startAnotherDaemon(environment: settings)
            try await eventually("the address is in the log") { Self.metricsAddress(in: other.log) != nil }
            #expect(other.log.contains("version=\(ProgramVersion.current) tallyd begins"))
            let address = try #require(Self.metricsAddress(in: other.log))
            #expect(address.hasPrefix("http://\(url.host() ?? ""):"))
            let metrics = HTTPCaller(base: address)
            let answer = try await metrics.send("GET", "/metrics")
            #expect(answer.status == 200)
            #expect(String(decoding: answer.body, as: UTF8.self).contains("# TYPE tally_http_event_readers gauge"))
            #expect(String(decoding: answer.body, as: UTF8.self).contains("\ntally_timeline_rows_lost_total 0\n"))
            let elsewhere = try await HTTPCaller(base: address, key: TallySystem.adminKey).send("GET", "/v1/apps")
            #expect(elsewhere.status == 404)
            #expect(try await HTTPCaller(base: other.url).send("GET", "/metrics").status == 401)
        }
    }

    /// Where a daemon serves them without a key, as its log says.
    private static func metricsAddress(in log: String) -> String? {
        log.firstMatch(of: /address=(\S+) serving metrics without a key/).map { String($0.output.1) }
    }

    @Test("every family is documented with its type")
    func documented() async throws {
        let page = try String(contentsOf: Places.document("reference/metrics.md"), encoding: .utf8)
        var documented: [String: String] = [:]
        for line in page.split(separator: "\n") where line.contains(/^\| `(tally|process)_/) {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            documented[cells[0].trimmingCharacters(in: ["`"])] = cells[1]
        }
        try await TallySystem.with { system in
            let stage = OperatorStage(system: system)
            try await stage.kickOff(phones: 1)
            // The first may go to the card alone, which has just joined. That is no measure of how long changes take.
            for minute: Int64 in 1...2 {
                try await stage.post(minute: minute)
                try await eventually("it has been sent") { try await stage.allShow(minute: minute) }
            }
            try await eventually("the gauges of the work are there, and the answer of APNs is counted") {
                let answer = try await system.api().send("GET", "/metrics")
                let text = String(decoding: answer.body, as: UTF8.self)
                return text.contains("tally_work_waiting_seconds") && text.contains("tally_delivery_seconds_count")
            }
            let text = String(decoding: try await system.api().send("GET", "/metrics").body, as: UTF8.self)
            let families = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map {
                $0.split(separator: " ")
            }
            #expect(families.count >= 8)
            for family in families {
                let (name, type) = (String(family[2]), String(family[3]))
                #expect(
                    documented[name] == type,
                    "\(name) is a \(type); docs/reference/metrics.md: \(documented[name] ?? "nothing")"
                )
            }
            #expect(text.contains("tally_database_reachable 1"))
            #expect(text.contains(/tally_database_wait_seconds_count [1-9]/))
            #expect(text.contains(/tally_database_connections [1-9]/))
            #expect(text.contains("tally_intake_waiting 0"))
            #expect(text.contains(/process_open_fds [1-9]/))
            #expect(text.contains(#"tally_build_info{version="\#(ProgramVersion.current)"} 1"#))
            #expect(text.contains(#"tally_delivery_seconds_count{api="device",environment="production",urgency="#))
        }
    }
}
