import Foundation
import Glibc
import Logging
import Postgres
import TestSupport
import Testing

@testable import LocalPostgres

/// A server of its own on loopback that speaks TLS, under a certificate for `db.example.test`.
@Suite("TLS to the database", .timeLimit(.minutes(2)))
struct TLSTests {
    @Test("verify-full takes the right certificate for the right name, and nothing else; the reason is told")
    func verifyFull() async throws {
        let folder = "/var/tmp/tally-tls-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // Left over, it would only take space.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await Self.makeCertificates(in: folder)
        let port = try await unusedPort()
        let cluster = try await Self.startServer(in: folder, port: port)
        // Who is refused tries again until the time is over.
        func error(_ host: String, _ terms: String, within limit: Duration = .seconds(5)) async throws -> String? {
            let text = "host=\(host) hostaddr=127.0.0.1 port=\(port) user=tally dbname=postgres \(terms)"
            return try await Self.failure(text, within: limit)
        }
        let trusted = "sslrootcert=\(folder)/ca.pem"
        #expect(try await error("db.example.test", "sslmode=verify-full \(trusted)", within: .seconds(60)) == nil)
        let name = try await error("another.example.test", "sslmode=verify-full \(trusted)")
        #expect(name?.contains("does not match host name \"another.example.test\"") == true, "\(name ?? "connected")")
        let stranger = try await error("db.example.test", "sslmode=verify-full sslrootcert=\(folder)/stranger.pem")
        #expect(stranger?.contains("certificate verify failed") == true, "\(stranger ?? "connected")")
        let missing = try await error("db.example.test", "sslmode=verify-full sslrootcert=\(folder)/none.pem")
        #expect(missing?.contains("none.pem") == true, "\(missing ?? "connected")")
        try await cluster.stop()
    }

    /// Why there is no connection; nil if there is one, and it is encrypted.
    private static func failure(_ text: String, within limit: Duration) async throws -> String? {
        var configuration = Database.Configuration()
        configuration.acquireTimeout = limit
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let database = try Database(url: text, configuration: configuration, logger: quiet)
        let failure: String?
        do throws(PostgresError) {
            let rows = try await database.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            failure = (try? rows.first(as: Bool.self)) == true ? nil : "the connection is not encrypted"
        } catch {
            failure = "\(error)"
        }
        await database.shutDown()
        return failure
    }

    private static func startServer(in folder: String, port: UInt16) async throws -> LocalCluster {
        var options = LocalCluster.Options(folder: folder + "/postgres")
        options.isDurable = false
        // The first start makes the folder of the data, where the server wants its key.
        let first = try await LocalCluster(options)
        try await first.start()
        let target = first.folder.data
        try await first.stop()
        let owner = try FileManager.default.attributesOfItem(atPath: target)
        for file in ["certificate.pem", "key.pem"] {
            let copy = "\(target)/\(file)"
            try FileManager.default.copyItem(atPath: "\(folder)/\(file)", toPath: copy)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600, .ownerAccountID: owner[.ownerAccountID] ?? 0],
                ofItemAtPath: copy
            )
        }
        options.settings = [
            "listen_addresses": "127.0.0.1", "port": "\(port)", "ssl": "on", "ssl_cert_file": "certificate.pem",
            "ssl_key_file": "key.pem",
        ]
        let cluster = try await LocalCluster(options)
        try await cluster.start()
        return cluster
    }

    /// An authority with a certificate for the server, and an authority that has signed nothing here.
    private static func makeCertificates(in folder: String) async throws {
        let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
        for (name, subject) in [("ca", "/CN=Tally test"), ("stranger", "/CN=Stranger")] {
            let made = try await Program("openssl").run(
                ["req", "-x509"] + curve
                    + ["-subj", subject, "-keyout", "\(folder)/\(name).key", "-out", "\(folder)/\(name).pem"]
            )
            try #require(made.status == 0, "\(made.text)")
        }
        let made = try await Program("openssl").run(
            ["req", "-x509"] + curve + [
                "-subj", "/CN=db.example.test", "-addext", "subjectAltName=DNS:db.example.test",
                "-addext", "basicConstraints=critical,CA:FALSE", "-CA", "\(folder)/ca.pem", "-CAkey",
                "\(folder)/ca.key",
                "-keyout", "\(folder)/key.pem", "-out", "\(folder)/certificate.pem",
            ]
        )
        try #require(made.status == 0, "\(made.text)")
    }
}
