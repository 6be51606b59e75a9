import Testing

@testable import tallyd

@Suite("Settings that are not known")
struct UnknownSettingTests {
    private static func unknown(_ name: String, _ value: String = "x") -> [UnknownSetting] {
        UnknownSetting.all(inEnvironment: [name: value])
    }

    @Test(
        "A slip is told with the setting that may be meant",
        arguments: [
            ("TALLY_HTTP_PROT", "TALLY_HTTP_PORT"), ("TALLY_LOG_LEVLE", "TALLY_LOG_LEVEL"),
            ("TALLY_DATABASE_URI", "TALLY_DATABASE_URL"), ("TALLY_MASTERKEY", "TALLY_MASTER_KEY"),
            ("TALY_HTTP_PORT", "TALLY_HTTP_PORT"), ("tally_http_port", "TALLY_HTTP_PORT"),
            ("TALLY_APNS_PRODUCTION_DEVICES_URL", "TALLY_APNS_PRODUCTION_DEVICE_URL"),
        ]
    )
    func slips(name: String, meant: String) {
        #expect(Self.unknown(name) == [UnknownSetting(name: name, file: nil, meant: meant)])
    }

    @Test("A name that is like none is told alone")
    func likeNone() {
        #expect(Self.unknown("TALLY_LISTEN_BACKLOG").map(\.description) == ["TALLY_LISTEN_BACKLOG"])
    }

    @Test(
        "What is known, or another's, is not told",
        arguments: DaemonConfiguration.keys.map(\.name) + [
            "TALLY_URL", "TALLY_API_KEY", "TALLY_PROFILE", "TALLY_APP", "TALLY_CA_FILE", "TALLY_CONFIG",
            "TALLY_REGISTER_KEY", "TALLY_TEST_PYTHON", "TALLY_BENCHES", "TALLY_FUZZ_SEED", "PATH", "DATABASE_URL", "",
        ]
    )
    func known(name: String) {
        #expect(Self.unknown(name).isEmpty)
    }

    @Test(
        "What Kubernetes sets for services is not told",
        arguments: [
            ("TALLY_SERVICE_HOST", "10.0.0.1"), ("TALLY_SERVICE_PORT_HTTP", "8080"),
            ("TALLY_PORT", "tcp://10.0.0.1:8080"),
            ("TALLY_PORT_8080_TCP_ADDR", "10.0.0.1"), ("TALLY_API_SERVICE_PORT", "8080"),
        ]
    )
    func serviceLinks(name: String, value: String) {
        #expect(Self.unknown(name, value).isEmpty)
        #expect(!Self.unknown("TALLY_PORT", "8080").isEmpty)
    }

    @Test("Names of a file are read as its settings are: with blanks around them, and not behind 'export'")
    func file() {
        let text = """
            # TALLY_HTTP_PROT=1
              TALLY_HTTP_PORT = 8080\r
            TALLY_HTTP_HOTS = 0.0.0.0
            export TALLY_LOG_LEVEL=debug
            =nothing
            no setting
            POSTGRES_PASSWORD=TALLY_X=1
            """
        #expect(
            UnknownSetting.all(in: text, of: "tally.env").map(\.description) == [
                "TALLY_HTTP_HOTS in tally.env (did you mean TALLY_HTTP_HOST?)",
                "export TALLY_LOG_LEVEL in tally.env (did you mean TALLY_LOG_LEVEL?)",
            ]
        )
    }
}
