/// One setting of the daemon: its variable (or line of the file) and its default.
struct ConfigurationKey: Sendable {
    let name: String
    let isSecret: Bool
    /// The description in `tallyd config`.
    let help: String

    /// The setting with the path of a file that holds the value; nil unless the value is secret.
    var fileName: String? { isSecret ? name + "_FILE" : nil }

    init(_ name: String, isSecret: Bool = false, _ help: String) {
        self.name = name
        self.isSecret = isSecret
        self.help = help
    }

    /// The error of a wrong value; `message` is said after the name.
    func refused(_ message: String) -> ConfigurationError { ConfigurationError(key: name, message: message) }

    static let databaseURL = Self(
        "TALLY_DATABASE_URL",
        isSecret: true,
        "postgres://… or keyword=value text, several hosts allowed; required"
    )
    static let databaseConnections = Self(
        "TALLY_DATABASE_CONNECTIONS",
        "connections to Postgres at most, 2 to 500; default 16"
    )
    static let httpHost = Self("TALLY_HTTP_HOST", "address to listen on; default 127.0.0.1")
    static let httpPort = Self("TALLY_HTTP_PORT", "port to listen on, 0 for any; default 8080")
    static let phonesHost = Self(
        "TALLY_PHONES_HOST",
        "address on which phones report with tickets, and nothing else is served; default 127.0.0.1"
    )
    static let phonesPort = Self("TALLY_PHONES_PORT", "port for that, 0 for any; default none: not at all")
    static let metricsHost = Self(
        "TALLY_METRICS_HOST",
        "address on which /metrics is served without a key, besides; default 127.0.0.1"
    )
    static let metricsPort = Self("TALLY_METRICS_PORT", "port for that, 0 for any; default none: not at all")
    static let httpRateLimit = Self(
        "TALLY_HTTP_RATE_LIMIT",
        "requests, and operations of batches, that one API key may make in a second, 1 to 1000000; default no limit"
    )
    static let console = Self("TALLY_CONSOLE", "on, or off for no web console at /console; default on")
    static let intakeLimit = Self(
        "TALLY_INTAKE_LIMIT",
        "changes that may wait to be accepted before routine ones are refused, 100 to 1000000; default 20000"
    )
    static let intakeWait = Self(
        "TALLY_INTAKE_WAIT_SECONDS",
        "how long changes may have to wait to be accepted before routine ones are refused, 1 to 60; default 1"
    )
    static let receiptSampling = Self(
        "TALLY_RECEIPT_SAMPLING",
        "share of cards whose apps report which revisions they see, 0 to 1; default 0.01"
    )
    static let ringSize = Self(
        "TALLY_RING_SIZE",
        "update tokens of an activity that one daemon serves before others may share them, 1 to 1000000; default 50000"
    )
    static let masterKey = Self(
        "TALLY_MASTER_KEY",
        isSecret: true,
        "base64 of 32 bytes; seals signing keys at rest; several with commas while it is replaced; required"
    )
    static let bootstrapKey = Self(
        "TALLY_BOOTSTRAP_KEY",
        isSecret: true,
        "an admin API key that is accepted as it is, at least 16 characters; default none"
    )
    static let apnsCAFile = Self("TALLY_APNS_CA_FILE", "PEM file of further trust roots for APNs; default none")
    static let apnsHTTP2 = Self(
        "TALLY_APNS_HTTP2",
        "who speaks HTTP/2 to APNs: tally, or nghttp2 for the library libnghttp2; default tally"
    )
    static let apnsProxy = Self(
        "TALLY_APNS_PROXY",
        isSecret: true,
        "http://[user:password@]host:port of a proxy to APNs; default none"
    )
    static let apnsRetryMaximum = Self(
        "TALLY_APNS_RETRY_MAX_SECONDS",
        "longest wait between two tries of a push, or to connect to APNs, 1 to 3600; default 30"
    )
    static let webhookAllow = Self(
        "TALLY_WEBHOOK_ALLOW",
        "addresses besides public ones that webhooks may reach, also by http, as 10.0.0.0/8,::1; default none"
    )
    static let webhookCAFile = Self(
        "TALLY_WEBHOOK_CA_FILE",
        "PEM file with trust roots for webhooks in addition to the system's"
    )
    static let eventRetention = Self("TALLY_EVENT_RETENTION_DAYS", "how long events are kept, 1 to 365; default 7")
    static let activityRetention = Self(
        "TALLY_ACTIVITY_RETENTION_DAYS",
        "how long activities are kept after their end, 1 to 3650, but never shorter than events, or forever; default 30"
    )
    static let auditRetention = Self(
        "TALLY_AUDIT_RETENTION_DAYS",
        "how long the audit log says what operators did, 1 to 3650, or forever; default 400"
    )
    static let logLevel = Self(
        "TALLY_LOG_LEVEL",
        "trace, debug, info, notice, warning, error or critical; default info"
    )
    static let logFormat = Self("TALLY_LOG_FORMAT", "text, or json for one JSON object per line; default text")
    static let drainDelay = Self(
        "TALLY_DRAIN_SECONDS",
        "after SIGTERM, how long /health/ready says 503 before no more connections are taken, 0 to 20; default 1"
    )

    /// The URL of one of Apple's three APIs in one environment.
    static func apnsURL(_ environment: String, _ api: String) -> ConfigurationKey {
        ConfigurationKey(
            "TALLY_APNS_\(environment.uppercased())_\(api.uppercased())_URL",
            "https://host:port; default Apple's"
        )
    }
}
