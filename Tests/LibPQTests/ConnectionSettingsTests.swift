@testable import LibPQ
import Testing

@Suite("Connection strings")
struct ConnectionSettingsTests {
    @Test(
        "A URL and keyword=value pairs say the same",
        arguments: [
            "postgres://someone:s3cret%20word@db.example:6000/tally?application_name=x",
            "host=db.example port=6000 dbname=tally user=someone password='s3cret word' application_name=x",
        ]
    )
    func forms(_ text: String) throws {
        let settings = try ConnectionSettings(parsing: text)
        #expect(settings["host"] == "db.example")
        #expect(settings["password"] == "s3cret word")
        #expect(settings.description == "host=db.example port=6000 dbname=tally user=someone")
        var dumped = ""
        dump(settings, to: &dumped)
        #expect(!"\(dumped)\(settings)\(String(reflecting: settings))".contains("s3cret"))
    }

    @Test("What is neither is refused without being quoted")
    func malformed() {
        let error = #expect(throws: LibPQError.self) { try ConnectionSettings(parsing: "postgres://u:s3cret%zz@h/d") }
        #expect(error?.code == .malformedConnectionString)
        #expect(error.map { "\($0)\($0.message ?? "")".contains("s3cret") } == false)
    }

    @Test("A default gives way to what the string says")
    func defaults() throws {
        var settings = try ConnectionSettings(parsing: "host=a keepalives_idle=7")
        settings.setDefault("keepalives_idle", "30")
        settings.setDefault("keepalives_count", "3")
        settings.set("host", "b")
        #expect(settings["keepalives_idle"] == "7")
        #expect(settings["keepalives_count"] == "3")
        #expect(settings["host"] == "b")
    }

    private func hosts(_ text: String, _ environment: [String: String] = [:]) throws -> [String] {
        try ConnectionSettings(parsing: text) { environment[$0] }.attempts.map { attempt in
            let values = Dictionary(uniqueKeysWithValues: attempt.map { ($0.keyword, $0.value) })
            return ["host", "hostaddr", "port", "target_session_attrs"].compactMap { values[$0] }.joined(separator: " ")
        }
    }

    @Test("Several hosts are several attempts, each with its port")
    func attempts() throws {
        #expect(
            try hosts("postgres://a:1,b:2/x?target_session_attrs=read-write") == ["a 1 read-write", "b 2 read-write"]
        )
        #expect(try hosts("host=a,b port=7") == ["a 7", "b 7"])
        #expect(try hosts("host=a,b hostaddr=10.0.0.1,10.0.0.2") == ["a 10.0.0.1", "b 10.0.0.2"])
        #expect(try hosts("host=a") == ["a"])
    }

    @Test("A standby that is only preferred is looked for everywhere before anything else is taken")
    func preferStandby() throws {
        #expect(
            try hosts("host=a,b target_session_attrs=prefer-standby") == ["a standby", "b standby", "a any", "b any"]
        )
        // One name may stand for several addresses.
        #expect(try hosts("host=a target_session_attrs=prefer-standby") == ["a standby", "a any"])
        let environment = ["PGTARGETSESSIONATTRS": "prefer-standby"]
        #expect(try hosts("host=a", environment) == ["a standby", "a any"])
        #expect(try hosts("host=a target_session_attrs=any", environment) == ["a any"])
    }

    @Test(
        "Where libpq may have an address from elsewhere, it keeps the word",
        arguments: [
            ("host=a", [:], false), ("host=a", ["PGHOSTADDR": "10.0.0.1"], true), ("host=a", ["PGHOSTADDR": ""], false),
            ("host=a", ["PGSERVICE": "tally"], true), ("host=a service=tally", [:], true),
            ("host=a hostaddr=10.0.0.2", ["PGHOSTADDR": "10.0.0.1"], false),
        ] as [(String, [String: String], Bool)]
    )
    func addressesElsewhere(text: String, environment: [String: String], expected: Bool) throws {
        let settings = try ConnectionSettings(parsing: text) { environment[$0] }
        #expect(settings.hasAddressesElsewhere == expected)
    }

    @Test("Hosts whose addresses come from elsewhere are one attempt: libpq matches them with each other")
    func hostsWithAddressesElsewhere() throws {
        #expect(try hosts("host=a,b", ["PGHOSTADDR": "10.0.0.1,10.0.0.2"]) == ["a,b"])
        #expect(try hosts("host=a,b port=7 service=tally") == ["a,b 7"])
    }
}
