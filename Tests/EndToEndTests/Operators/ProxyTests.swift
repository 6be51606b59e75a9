import APITypes
import ActivityModel
import Foundation
import Glibc
import JSON
import SystemSupport
import TallyClient
import TestSupport
import Testing

/// The reverse proxy of docs/guides/deploy.md before a real daemon.
@Suite("A reverse proxy gives Tally TLS")
struct ProxyTests {
    @Test(
        "the sample lets phones report over TLS and nothing more, and keeps metrics, health and slow senders to itself"
    )
    func haproxy() async throws {
        try await TallySystem.with { system in
            let port = try await unusedPort()
            let inside = try await unusedPort()
            let daemon = try await system.startAnotherDaemon(
                environment: ["TALLY_PHONES_PORT": "0", "TALLY_LOG_LEVEL": "info"]
            )
            let phones = try await eventually("the address is in the log") {
                daemon.log.firstMatch(of: /address=http:\/\/(\S+) serving phones/).map { String($0.output.1) }
            }
            let backends = String(daemon.url.dropFirst("http://".count))
            let proxy = try await startProxy(of: system, port: port, inside: inside, backends: backends, phones: phones)
            defer { proxy.kill() }
            let ticket = try await system.client(url: daemon.url).createTicket(
                TallySystem.app,
                RegistrationTicketRequest(
                    environment: .production,
                    deviceID: knownGood(DeviceID("phone-1")),
                    ttlSeconds: 600
                )
            ).ticket
            func curl(
                _ options: String,
                _ path: String,
                at port: UInt16,
                key: String = TallySystem.adminKey
            ) async throws -> String {
                try await Shell.run(
                    """
                    curl -sS --path-as-is --cacert certificate.pem --resolve localhost:\(port):127.0.0.1 -o answer \
                        -w '%{http_version} %{http_code}' -H 'Authorization: Bearer \(key)' \
                        -H 'Content-Type: application/json' \(options) https://localhost:\(port)\(path)
                    """,
                    in: system.folder,
                    stopsAtFailure: false
                )
            }
            func get(_ path: String) async throws -> String { try await curl("", path, at: inside) }
            try await eventually("the proxy has found the daemon") { try await get("/v1/apps") == "2 200" }
            #expect(try system.folder.text("answer").contains(TallySystem.app.rawValue))
            #expect(try await get("/metrics") == "2 404")
            #expect(try await get("/health/ready") == "2 404")
            #expect(try await get("/v1/nothing") == "2 404")
            // The console's cookies need TLS, whatever the caller says.
            let plain = "-D head -H 'X-Forwarded-Proto: http'"
            #expect(try await curl(plain, "/console/sign-in", at: inside) == "2 200")
            let head = try system.folder.text("head")
            let cookie = head.split(whereSeparator: \.isNewline).first { $0.hasPrefix("set-cookie: ") }
            #expect(cookie?.hasPrefix("set-cookie: __Host-tally-visitor=") == true)
            #expect(cookie?.contains("; Secure") == true)

            // What the internet sees: an admin key is worth nothing there, a ticket its reports.
            let app = "/v1/apps/\(TallySystem.app)"
            let device = #"-X PUT -d '{"environment": "production"}'"#
            #expect(try await curl(device, app + "/devices/phone-1", at: port) == "2 401")
            #expect(try await curl(device, app + "/devices/phone-1", at: port, key: ticket) == "2 200")
            #expect(try system.folder.text("answer").contains("phone-1"))
            for (options, path) in [
                ("", "/v1/apps"), ("", app), ("", app + "/devices/phone-1"), ("", "/openapi.yaml"), ("", "/metrics"),
                ("-X DELETE", app + "/devices/phone-1"), ("-X DELETE", app), ("-X PUT -d '{}'", app),
                ("-X PUT -d '{}'", app + "/activities/final"), ("-X POST -d '{}'", app + "/registration-tickets"),
                ("-X PUT -d '{}'", app + "/types/GameAttributes"), ("-X POST -d '{}'", "/v1/api-keys"),
                ("-X PUT -d '{}'", app + "/devices/a/b"), ("", "/health/ready"),
            ] {
                #expect(try await curl(options, path, at: port) == "2 404", "\(options) \(path)")
            }

            // The end of the body never comes, and the connection stays open.
            let slow = try await Shell.run(
                """
                mkfifo body
                exec 3<>body
                printf 'PUT /v1/apps/a/devices/d HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 100\\r\\n\\r\\n{' >&3
                openssl s_client -quiet -connect 127.0.0.1:\(port) -CAfile certificate.pem -alpn http/1.1 < body
                """,
                in: system.folder,
                stopsAtFailure: false
            )
            #expect(slow.contains("HTTP/1.1 408"), "\(slow)")
            guard geteuid() == 0 else { return }
            let user = try await Shell.run(
                """
                for process in /proc/[0-9]*; do
                    [[ $(<"$process/comm") == haproxy ]] && grep -qF "$PWD/haproxy.cfg" "$process/cmdline" || continue
                    grep ^Uid: "$process/status"
                done
                """,
                in: system.folder,
                stopsAtFailure: false
            )
            #expect(user.contains(/Uid:\s+[1-9]/), "\(user)")
        }
    }

    @Test("the sample passes on a stream of changes line by line, in both directions", arguments: ["http1.1", "http2"])
    func stream(version: String) async throws {
        try await TallySystem.with { system in
            let port = try await unusedPort()
            let inside = try await unusedPort()
            let backends = String(system.url.dropFirst("http://".count))
            let proxy = try await startProxy(
                of: system,
                port: port,
                inside: inside,
                backends: backends,
                phones: backends
            )
            defer { proxy.kill() }
            let line = #"{"op":"end","id":"none","body":{}}"#
            let results = try await Shell.run(
                """
                url=https://localhost:\(inside)/v1/apps/\(TallySystem.app)
                ask() {
                    curl -sS --\(version) --cacert certificate.pem --resolve localhost:\(inside):127.0.0.1 \
                        -H 'Authorization: Bearer \(TallySystem.adminKey)' "$@"
                }
                until ask --fail -o /dev/null "$url"; do sleep 0.1; done
                mkfifo lines
                exec 3<>lines
                # Without `Expect`: else curl 7.88 may leave what came with the answer's head unread.
                ask -N -X POST -T . -H 'Content-Type: application/x-ndjson' -H 'Expect:' "$url/ingest" \
                    < lines > results 3>&- &
                for number in 1 2 3; do
                    echo '\(line)' >&3
                    until (( $(wc -l < results) == number )); do sleep 0.05; done
                done
                exec 3>&-
                wait $!
                cat results
                """,
                in: system.folder
            )
            #expect(results.matches(of: #/"code":"not_found"/#).count == 3, "\(results)")
        }
    }

    /// haproxy with the sample's settings, but for where things are and how long it waits; its rights it can only give
    /// up where it has some.
    private func startProxy(
        of system: TallySystem,
        port: UInt16,
        inside: UInt16,
        backends: String,
        phones: String
    ) async throws -> Program.Background {
        try await Shell.run(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost \
                -keyout key.pem -out certificate.pem
            cat certificate.pem key.pem > tally.pem
            """,
            in: system.folder
        )
        let sample = try String(contentsOf: Places.sample("deploy/haproxy.cfg"), encoding: .utf8)
        let api = backends.split(separator: ":")
        var adapted = sample.replacing("bind :8443", with: "bind 127.0.0.1:\(port)")
            .replacing("bind 127.0.0.1:8444", with: "bind 127.0.0.1:\(inside)")
            .replacing("/etc/haproxy/tally.pem", with: system.folder.path("tally.pem"))
            .replacing("127.0.0.1:8080", with: backends)
            // The daemon of a test serves its API at an address of its own.
            .replacing(
                "127.0.0.1:8081 check port 8080",
                with: "\(phones) check addr \(api[0]) port \(api[1])"
            )
            .replacing("timeout http-request 15s", with: "timeout http-request 1s")
        #expect(adapted.contains("127.0.0.1:\(port) ssl crt \(system.folder.path("tally.pem"))"))
        #expect(adapted.contains("http-request 1s"))
        if geteuid() != 0 { adapted = adapted.replacing(/\n +(user|group|chroot) .*/, with: "") }
        try Data(adapted.utf8).write(to: system.folder.url.appending(path: "haproxy.cfg"))
        try await Shell.run("haproxy -c -f haproxy.cfg", in: system.folder)
        return try Program("haproxy").start(["-db", "-f", system.folder.path("haproxy.cfg")])
    }
}
