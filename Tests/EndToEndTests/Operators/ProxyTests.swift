import ActivityModel
import Foundation
import JSON
import SystemSupport
import TestSupport
import Testing

/// The reverse proxy of docs/deployment.md before a real daemon.
@Suite("A reverse proxy gives Tally TLS")
struct ProxyTests {
    @Test("the sample passes requests on over TLS, and keeps metrics and health to itself")
    func haproxy() async throws {
        try await TallySystem.with { system in
            let port = try await unusedPort()
            try await Shell.run(
                """
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost \
                    -keyout key.pem -out certificate.pem
                cat certificate.pem key.pem > tally.pem
                """,
                in: system.folder
            )
            let sample = try String(contentsOf: Places.sample("deploy/haproxy.cfg"), encoding: .utf8)
            let daemon = system.url.dropFirst("http://".count)
            let adapted = sample.replacing("bind :8443", with: "bind 127.0.0.1:\(port)")
                .replacing("/etc/haproxy/tally.pem", with: system.folder.path("tally.pem"))
                .replacing("127.0.0.1:8080", with: String(daemon))
            #expect(adapted.contains("127.0.0.1:\(port) ssl crt \(system.folder.path("tally.pem"))"))
            try Data(adapted.utf8).write(to: system.folder.url.appending(path: "haproxy.cfg"))
            try await Shell.run("haproxy -c -f haproxy.cfg", in: system.folder)
            let proxy = try Program("haproxy").start(["-db", "-f", system.folder.path("haproxy.cfg")])
            defer { proxy.kill() }
            func get(_ path: String) async throws -> String {
                let curl =
                    "curl -sS --cacert certificate.pem --resolve localhost:\(port):127.0.0.1"
                    + " -o answer -w '%{http_version} %{http_code}' -H 'Authorization: Bearer \(TallySystem.adminKey)'"
                return try await Shell.run(
                    "\(curl) https://localhost:\(port)\(path)",
                    in: system.folder,
                    stopsAtFailure: false
                )
            }
            try await eventually("the proxy has found the daemon") { try await get("/v1/apps") == "2 200" }
            #expect(try system.folder.text("answer").contains(TallySystem.app.rawValue))
            #expect(try await get("/metrics") == "2 404")
            #expect(try await get("/health/ready") == "2 404")
            #expect(try await get("/v1/nothing") == "2 404")
        }
    }
}
