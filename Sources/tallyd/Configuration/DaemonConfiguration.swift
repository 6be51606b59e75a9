import APNSTransport
import ActivityModel
import Configuration
import Cryptography
import Foundation
import Glibc
import HTTP2Engine
import HTTPAPI
import Logging
import Orchestrator
import Postgres
import Store
import WebhookTransport

/// All settings of the daemon. They are read and checked before anything starts.
struct DaemonConfiguration: Sendable {
    /// Secret, because it may contain a password.
    var databaseURL: String
    var pool = Self.usualPool
    var masterKeys: MasterKeys
    var orchestrator = OrchestratorSettings()
    var http = HTTPServerConfiguration { $0.drainDelay = .seconds(1) }
    /// Whether the daemon serves the console.
    var servesConsole = true
    var endpoints = APNSEndpoints()
    var apnsCAFile: String?
    var transport = APNSClientConfiguration()
    /// What webhooks may reach besides public addresses.
    var webhookAllowed: [AddressBlock] = []
    /// What webhooks trust besides the system's certificates.
    var webhookCAFile: String?
    var logLevel = Logger.Level.info
    var logFormat = LogFormat.text

    private static var usualPool: Database.Configuration {
        var pool = Database.Configuration()
        pool.maximumConnections = 16
        return pool
    }

    private enum Switch: String, CaseIterable {
        case on, off
    }
}

extension DaemonConfiguration {
    /// Reads and checks every key.
    ///
    /// - Throws: ``ConfigurationError`` that names the first invalid key.
    init(_ reader: ConfigurationReader) throws {
        self.init(
            databaseURL: try reader.required(.databaseURL),
            masterKeys: try Self.masterKeys(try reader.required(.masterKey))
        )
        do {
            guard try Database.namesPorts(url: databaseURL) else {
                throw ConfigurationKey.databaseURL.refused("names a port that is not a number from 1 to 65535")
            }
        } catch is PostgresError {
            throw ConfigurationKey.databaseURL.refused(
                "is neither a postgres:// URL nor keyword=value pairs that libpq knows"
            )
        }
        if let count = try reader.integer(.databaseConnections, in: 2...500) { pool.maximumConnections = count }
        try readHTTP(reader)
        try readOrchestrator(reader)
        try readAPNS(reader)
        webhookCAFile = try Self.trustRoots(reader, .webhookCAFile, check: WebhookTransport.check(caFile:))
        if let list = try reader.text(.webhookAllow) { webhookAllowed = try Self.addressBlocks(list) }
        orchestrator.shared = [
            ConfigurationKey.ringSize.name: "\(orchestrator.ringSize)",
            ConfigurationKey.eventRetention.name: Self.days(orchestrator.eventRetention),
            ConfigurationKey.activityRetention.name: Self.days(orchestrator.activityRetention),
            ConfigurationKey.auditRetention.name: Self.days(orchestrator.auditRetention),
            ConfigurationKey.webhookAllow.name: try reader.text(.webhookAllow) ?? "none",
        ]
        logLevel = try reader.word(.logLevel) ?? logLevel
        logFormat = try reader.word(.logFormat) ?? logFormat
    }

    private mutating func readHTTP(_ reader: ConfigurationReader) throws {
        http.host = try Self.host(reader, .httpHost) ?? http.host
        http.port = try reader.integer(.httpPort, in: 0...65535) ?? http.port
        http.phonesListener = try Self.listener(reader, host: .phonesHost, port: .phonesPort)
        http.metricsListener = try Self.listener(reader, host: .metricsHost, port: .metricsPort)
        try checkPorts()
        http.requestsPerSecond = try reader.integer(.httpRateLimit, in: 1...1_000_000)
        if let seconds = try reader.integer(.drainDelay, in: 0...20) { http.drainDelay = .seconds(seconds) }
        servesConsole = try reader.word(.console, Switch.self) != .off
    }

    private mutating func readOrchestrator(_ reader: ConfigurationReader) throws {
        orchestrator.bootstrapKey = try reader.text(.bootstrapKey)
        if let key = orchestrator.bootstrapKey, key.utf8.count < 16 {
            throw ConfigurationKey.bootstrapKey.refused("has fewer than 16 characters")
        }
        orchestrator.intakeLimit = try reader.integer(.intakeLimit, in: 100...1_000_000) ?? orchestrator.intakeLimit
        if let seconds = try reader.integer(.intakeWait, in: 1...60) { orchestrator.intakeWait = .seconds(seconds) }
        if let text = try reader.text(.receiptSampling) {
            guard let share = Double(text), (0...1).contains(share) else {
                throw ConfigurationKey.receiptSampling.refused("is not a number from 0 to 1")
            }
            orchestrator.receiptSampling = share
        }
        orchestrator.ringSize = try reader.integer(.ringSize, in: 1...1_000_000) ?? orchestrator.ringSize
        if let days = try reader.integer(.eventRetention, in: 1...365) {
            orchestrator.eventRetention = .seconds(days * 86_400)
        }
        orchestrator.activityRetention = try Self.retention(
            reader,
            .activityRetention,
            default: orchestrator.activityRetention
        )
        orchestrator.auditRetention = try Self.retention(reader, .auditRetention, default: orchestrator.auditRetention)
    }

    private mutating func readAPNS(_ reader: ConfigurationReader) throws {
        apnsCAFile = try Self.trustRoots(reader, .apnsCAFile, check: APNSClient.check(caFile:))
        transport.http2 = try reader.word(.apnsHTTP2) ?? transport.http2
        transport.proxy = try reader.text(.apnsProxy).map { url in
            try APNSProxy(url: url, name: ConfigurationKey.apnsProxy.name)
        }
        // A push also waits for its connection, so reconnecting has the same longest delay as retrying.
        if let seconds = try reader.integer(.apnsRetryMaximum, in: 1...3600) {
            orchestrator.retryCap = .seconds(seconds)
            transport.maximumReconnectDelay = .seconds(seconds)
        }
        for environment in APNSEnvironment.allCases {
            for api in APNSAPI.allCases {
                let key = ConfigurationKey.apnsURL(environment.rawValue, api.rawValue)
                guard let url = try reader.text(key) else { continue }
                try endpoints.setURL(url, environment: environment, api: api, name: key.name)
            }
        }
    }

    /// The path of a file with trust roots, which can be read.
    private static func trustRoots(
        _ reader: ConfigurationReader,
        _ key: ConfigurationKey,
        check: (String) throws -> Void
    ) throws(ConfigurationError) -> String? {
        guard let path = try reader.text(key) else { return nil }
        do {
            try check(path)
        } catch {
            throw key.refused("\(error)")
        }
        return path
    }

    /// Refuses a port that two listeners would take at the same address.
    private func checkPorts() throws(ConfigurationError) {
        let listeners: [(key: ConfigurationKey, address: (host: String, port: Int)?)] = [
            (.httpPort, (host: http.host, port: http.port)), (.phonesPort, http.phonesListener),
            (.metricsPort, http.metricsListener),
        ]
        for (index, (key, address)) in listeners.enumerated() {
            for (other, taken) in listeners.prefix(index) {
                guard let address, let taken, address.port == taken.port, address.port != 0 else { continue }
                let isShared = Self.takes(address.host, taken.host) || Self.takes(taken.host, address.host)
                guard isShared else { continue }
                throw key.refused("is the same as \(other.name), at the same address")
            }
        }
    }

    /// Whether a listener takes its port from another one. `::` stands for all addresses, `0.0.0.0` for those of IPv4.
    private static func takes(_ host: String, _ other: String) -> Bool {
        host == other || host == "::" || (host == "0.0.0.0" && !other.contains(":"))
    }

    /// Refuses what is neither an address nor a name, such as `999.1.1.1`.
    private static func host(
        _ reader: ConfigurationReader,
        _ key: ConfigurationKey
    ) throws(ConfigurationError) -> String? {
        guard let host = try reader.text(key) else { return nil }
        var octets = in6_addr()  // room for an address of either kind
        // After a percent sign stands the interface.
        let address = String(host.prefix { $0 != "%" })
        if inet_pton(AF_INET, host, &octets) == 1 || inet_pton(AF_INET6, address, &octets) == 1 { return host }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let isName =
            labels.last.map { Int($0) == nil } == true
            && labels.allSatisfy { label in
                !label.isEmpty && label.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }
            }
        guard isName else { throw key.refused("is neither an address nor the name of a machine") }
        return host
    }

    /// Refuses an address without a port, because it would silently do nothing.
    private static func listener(
        _ reader: ConfigurationReader,
        host hostKey: ConfigurationKey,
        port portKey: ConfigurationKey
    ) throws(ConfigurationError) -> (host: String, port: Int)? {
        let host = try Self.host(reader, hostKey)
        if let port = try reader.integer(portKey, in: 0...65535) { return (host ?? "127.0.0.1", port) }
        guard host == nil else {
            throw hostKey.refused("does nothing without \(portKey.name)")
        }
        return nil
    }

    /// A number of days; nil for `forever`.
    private static func retention(
        _ reader: ConfigurationReader,
        _ key: ConfigurationKey,
        default: Duration?
    ) throws(ConfigurationError) -> Duration? {
        let days = 1...3650
        switch try reader.text(key) {
        case nil: return `default`
        case "forever": return nil
        case let text?:
            guard let count = Int(text), days.contains(count) else {
                throw key.refused("must be a whole number from \(days.lowerBound) to \(days.upperBound), or forever")
            }
            return .seconds(count * 86_400)
        }
    }

    /// A time as a setting of ``retention(_:_:default:)``.
    private static func days(_ time: Duration?) -> String {
        time.map { "\(Int($0 / .seconds(86_400)))" } ?? "forever"
    }

    /// The blocks of a list with commas.
    private static func addressBlocks(_ text: String) throws(ConfigurationError) -> [AddressBlock] {
        var blocks: [AddressBlock] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let block = AddressBlock(part.trimmingCharacters(in: .whitespaces)) else {
                throw ConfigurationKey.webhookAllow.refused(
                    "is not a list of addresses and blocks such as 10.0.0.0/8 with commas"
                )
            }
            blocks.append(block)
        }
        return blocks
    }

    /// The keys of a list with commas.
    static func masterKeys(_ text: String) throws(ConfigurationError) -> MasterKeys {
        do {
            let keys = try text.split(separator: ",", omittingEmptySubsequences: false).map { part in
                try SymmetricKey(base64: part.trimmingCharacters(in: .whitespacesAndNewlines))
            }
            // A split text has at least one part.
            return MasterKeys(keys[0], others: Array(keys.dropFirst()))
        } catch {
            throw ConfigurationKey.masterKey.refused(
                "is not the base64 text of 32 bytes, or several of them with commas; "
                    + "make one with: openssl rand -base64 32"
            )
        }
    }

    /// The keys, in the order of `tallyd config`.
    static var keys: [ConfigurationKey] {
        [
            .databaseURL, .databaseConnections, .httpHost, .httpPort, .phonesHost, .phonesPort, .metricsHost,
            .metricsPort, .httpRateLimit, .console, .intakeLimit, .intakeWait, .receiptSampling, .ringSize,
            .masterKey, .bootstrapKey, .apnsCAFile, .apnsHTTP2, .apnsProxy, .apnsRetryMaximum, .webhookAllow,
            .webhookCAFile, .eventRetention, .activityRetention, .auditRetention, .logLevel, .logFormat, .drainDelay,
        ]
            + APNSEnvironment.allCases.flatMap { environment in
                APNSAPI.allCases.map { ConfigurationKey.apnsURL(environment.rawValue, $0.rawValue) }
            }
    }
}
