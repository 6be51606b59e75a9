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

    private func hosts(_ text: String) throws -> [String] {
        try ConnectionSettings(parsing: text).attempts.map { attempt in
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
    }
}
