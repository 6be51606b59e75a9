import ActivityModel
import Foundation
import Glibc
import JSON
import SystemSupport
import TestSupport
import Testing

/// The reverse proxy of docs/deployment.md before a real daemon.
@Suite("A reverse proxy gives Tally TLS")
struct ProxyTests {
    @Test(
        "the sample passes requests on over TLS, without rights, and keeps metrics, health and slow senders to itself"
    )
    func haproxy() async throws {
        try await TallySystem.with { system in
            let port = try await unusedPort()
            let proxy = try await startProxy(of: system, port: port)
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
            // The end of the body never comes, and the connection stays open.
            let slow = try await Shell.run(
                """
                mkfifo body
                exec 3<>body
                printf 'POST /v1/api-keys HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 100\\r\\n\\r\\n{' >&3
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

    /// haproxy with the sample's settings, but for where things are and how long it waits; its rights it can only give
    /// up where it has some.
    private func startProxy(of system: TallySystem, port: UInt16) async throws -> Program.Background {
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
        var adapted = sample.replacing("bind :8443", with: "bind 127.0.0.1:\(port)")
            .replacing("/etc/haproxy/tally.pem", with: system.folder.path("tally.pem"))
            .replacing("127.0.0.1:8080", with: String(daemon))
            .replacing("timeout http-request 15s", with: "timeout http-request 1s")
        #expect(adapted.contains("127.0.0.1:\(port) ssl crt \(system.folder.path("tally.pem"))"))
        #expect(adapted.contains("http-request 1s"))
        if geteuid() != 0 { adapted = adapted.replacing(/\n +(user|group|chroot) .*/, with: "") }
        try Data(adapted.utf8).write(to: system.folder.url.appending(path: "haproxy.cfg"))
        try await Shell.run("haproxy -c -f haproxy.cfg", in: system.folder)
        return try Program("haproxy").start(["-db", "-f", system.folder.path("haproxy.cfg")])
    }
}
