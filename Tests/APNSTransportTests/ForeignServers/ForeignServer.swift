import APNSTransport
import Foundation
import TestSupport

/// HTTP/2 servers of others that answer everything with 200 and allow so many streams.
enum ForeignServer: String, CaseIterable, Sendable, CustomStringConvertible {
    case nghttpd, python, haproxy, node, nginx, apache

    var description: String { rawValue }

    /// All but those that only .ci/run installs. There, and wherever they happen to be, they take part as well.
    static var present: [ForeignServer] {
        let isThorough = ProcessInfo.processInfo.environment["TALLY_TEST_JAVA"] != nil
        return allCases.filter { server in
            switch server {
            // Missing is an answer here.
            case .node, .nginx: isThorough || (try? Program(server.rawValue)) != nil
            default: true
            }
        }
    }

    /// Runs `body` with a server and ends it afterwards. It may not listen yet.
    func run(streams: Int, _ body: (APNSEndpoint, _ caFile: String) async throws -> Void) async throws {
        guard self != .python else {
            return try await PythonServer.run(["--limit", "\(streams)"]) { server async throws in
                try await body(server.endpoint, server.caFile)
                let report = try server.report()
                guard report.violations.isEmpty else { throw Violations(description: "\(report.violations)") }
            }
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "tally-server-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // What is left is in the temporary folder.
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try await unusedPort()
        let server = try start(in: folder, port: port, streams: streams)
        defer { server.kill() }
        try await body(APNSEndpoint(host: "localhost", port: port), TestCertificate.caFile)
    }

    /// What python's `h2` found against the protocol.
    private struct Violations: Error, CustomStringConvertible {
        let description: String
    }

    private func start(in folder: URL, port: UInt16, streams: Int) throws -> Program.Background {
        switch self {
        case .nghttpd, .python:
            return try Program("nghttpd").start([
                "--address=127.0.0.1", "--echo-upload", "--max-concurrent-streams=\(streams)", "\(port)",
                TestCertificate.keyFile, TestCertificate.certificateFile,
            ])
        case .node:
            let script = URL(filePath: #filePath).appending(path: "../../../ForeignPeers/node_apns_server.mjs")
            return try Program("node").start([
                script.standardizedFileURL.path, "\(port)", TestCertificate.keyFile, TestCertificate.certificateFile,
                "\(streams)",
            ])
        case .haproxy:
            let pem = folder.appending(path: "server.pem")
            let parts = [TestCertificate.certificateFile, TestCertificate.keyFile]
            try parts.map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
                .write(to: pem, atomically: true, encoding: .utf8)
            let file = try write(haproxy(pem.path, port, streams), to: folder)
            return try Program("haproxy").start(["-db", "-f", file])
        case .nginx:
            return try Program("nginx").start(["-c", try write(nginx(folder.path, port, streams), to: folder)])
        case .apache:
            let file = try write(apache(folder.path, port, streams), to: folder)
            return try Program("apache2").start(["-X", "-f", file])
        }
    }

    private func write(_ configuration: String, to folder: URL) throws -> String {
        let file = folder.appending(path: "server.conf")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }

    private func haproxy(_ pem: String, _ port: UInt16, _ streams: Int) -> String {
        """
        global
            tune.h2.max-concurrent-streams \(streams)
        defaults
            mode http
            timeout connect 60s
            timeout client 60s
            timeout server 60s
        frontend apns
            bind 127.0.0.1:\(port) ssl crt \(pem) alpn h2
            http-request return status 200

        """
    }

    /// It closes a connection by GOAWAY after its thousandth request, as it does without a setting.
    private func nginx(_ folder: String, _ port: UInt16, _ streams: Int) -> String {
        """
        daemon off;
        master_process off;
        pid \(folder)/nginx.pid;
        error_log \(folder)/error.log;
        events {}
        http {
            access_log off;
            client_body_temp_path \(folder)/body;
            proxy_temp_path \(folder)/proxy;
            fastcgi_temp_path \(folder)/fastcgi;
            uwsgi_temp_path \(folder)/uwsgi;
            scgi_temp_path \(folder)/scgi;
            http2_max_concurrent_streams \(streams);
            server {
                listen 127.0.0.1:\(port) ssl http2;
                ssl_certificate \(TestCertificate.certificateFile);
                ssl_certificate_key \(TestCertificate.keyFile);
                location / { return 200; }
            }
        }

        """
    }

    private func apache(_ folder: String, _ port: UInt16, _ streams: Int) -> String {
        let modules = ["mpm_event", "authz_core", "ssl", "http2", "rewrite"].map { name in
            "LoadModule \(name)_module /usr/lib/apache2/modules/mod_\(name).so"
        }
        return """
            \(modules.joined(separator: "\n"))
            ServerRoot \(folder)
            DefaultRuntimeDir \(folder)
            PidFile \(folder)/apache.pid
            ErrorLog \(folder)/error.log
            ServerName localhost
            User nobody
            Listen 127.0.0.1:\(port)
            MaxKeepAliveRequests 0
            SSLEngine on
            SSLCertificateFile \(TestCertificate.certificateFile)
            SSLCertificateKeyFile \(TestCertificate.keyFile)
            Protocols h2
            H2MaxSessionStreams \(streams)
            RewriteEngine on
            RewriteRule ^ - [R=200,L]

            """
    }
}
