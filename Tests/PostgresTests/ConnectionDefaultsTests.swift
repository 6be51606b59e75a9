import LibPQ
import Testing

@testable import Postgres

@Suite("What is set for every connection")
struct ConnectionDefaultsTests {
    /// The number of a setting that is there.
    private func number(_ keyword: String, in settings: ConnectionSettings) throws -> Int {
        try #require(settings[keyword].flatMap { Int($0) })
    }

    @Test("A server that vanishes without a word is noticed within a minute, also while it is sent to")
    func vanished() throws {
        let settings = try Database.settings("postgres://db.example.test/tally", Database.Configuration())
        let probing = try number("keepalives_interval", in: settings) * number("keepalives_count", in: settings)
        #expect(try number("keepalives_idle", in: settings) + probing <= 60)
        #expect(try number("tcp_user_timeout", in: settings) <= 60_000)
    }

    @Test("What the connection string says of it goes before")
    func chosen() throws {
        let url = "postgres://db.example.test/tally?keepalives_idle=300&application_name=blue"
        let settings = try Database.settings(url, Database.Configuration())
        #expect(settings["keepalives_idle"] == "300")
        #expect(settings["application_name"] == "blue")
        #expect(settings["client_encoding"] == "UTF8")
    }
}
