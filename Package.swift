// swift-tools-version: 6.2
import PackageDescription

// Language settings of every target in Swift, which the end of this file gives them; dependencies keep their own.
// SE-0335, SE-0409, SE-0444, SE-0461, SE-0470, SE-0481
let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .treatAllWarnings(as: .error),
    .treatWarning("DeprecatedDeclaration", as: .warning),
]
// The mechanism layer is the only one that imports C; every unsafe expression in it is marked.
let mechanism: [SwiftSetting] = [.strictMemorySafety()]

/// A product of another package. All belong to the trait "Server", so that an app which asks for no trait resolves none.
func server(_ product: String, of package: String) -> Target.Dependency {
    .product(name: product, package: package, condition: .when(traits: ["Server"]))
}

let argumentParser = server("ArgumentParser", of: "swift-argument-parser")
let configuration = server("Configuration", of: "swift-configuration")
let httpTypes = server("HTTPTypes", of: "swift-http-types")
let nioCore = server("NIOCore", of: "swift-nio")
let nioEmbedded = server("NIOEmbedded", of: "swift-nio")
let nioHTTP1 = server("NIOHTTP1", of: "swift-nio")
let nioPosix = server("NIOPosix", of: "swift-nio")
let logging = server("Logging", of: "swift-log")
let metrics = server("Metrics", of: "swift-metrics")
let metricsTestKit = server("MetricsTestKit", of: "swift-metrics")
let coreMetrics = server("CoreMetrics", of: "swift-metrics")
let serviceLifecycle = server("ServiceLifecycle", of: "swift-service-lifecycle")
let systemPackage = server("SystemPackage", of: "swift-system")
let swiftSyntax = server("SwiftSyntax", of: "swift-syntax")
let swiftParser = server("SwiftParser", of: "swift-syntax")
let unixSignals = server("UnixSignals", of: "swift-service-lifecycle")

// Stand-ins for Apple's frameworks, where there are none. The package of an app, which a Mac reads, has no such targets.
#if os(Linux)
let appleFrameworks: [Target.Dependency] = ["ActivityKit", "UIKit"]
// The sample app, which is only compiled.
let sampleApp: [Target.Dependency] = ["sample-app", "sample-widget"]
#else
let appleFrameworks: [Target.Dependency] = []
let sampleApp: [Target.Dependency] = []
#endif

let package = Package(
    name: "tally",
    platforms: [.iOS("16.2")],
    products: [
        .executable(name: "tallyd", targets: ["tallyd"]),
        .executable(name: "tally", targets: ["tally"]),
        .executable(name: "apns-sim", targets: ["apns-sim"]),
        // For backends; its public API is that of the folder Backend.
        .library(name: "TallyClient", targets: ["TallyClient"]),
        // For apps (docs/internals/decisions/app-library.md).
        .library(name: "TallyKit", targets: ["TallyKit"]),
        .executable(name: "tally-import", targets: ["tally-import"]),
    ],
    traits: [
        .default(enabledTraits: ["Server"]),
        .trait(
            name: "Server",
            description: "The daemon, the programs and TallyClient, with the packages that they need."
        ),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
    ],
    targets: [
        // C: module maps and shims only.
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLinux"),

        // Mechanism: the only importers of C.
        .target(name: "Reactor", dependencies: ["CLinux"], swiftSettings: mechanism),
        .target(name: "Cryptography", dependencies: ["COpenSSL"], swiftSettings: mechanism),
        .target(name: "TLSEngine", dependencies: ["COpenSSL"], swiftSettings: mechanism),
        .target(name: "HTTP2Engine", dependencies: ["CNGHTTP2", "Reactor", "TLSEngine"], swiftSettings: mechanism),
        .target(name: "LibPQ", dependencies: ["CLibPQ", "Reactor"], swiftSettings: mechanism),

        // Pure: no I/O, no clock, no database, no framework.
        .target(name: "Waiting"),
        .target(name: "JSON"),
        .target(
            name: "JSONSchema",
            dependencies: ["JSON"],
            exclude: ["MetaSchemas/LICENSE"],
            resources: [
                "schema", "core", "applicator", "unevaluated", "validation", "meta-data", "format-annotation",
                "format-assertion", "content",
            ].map { .embedInCode("MetaSchemas/\($0).json") }
        ),
        .target(name: "SwiftContent", dependencies: ["JSON", "JSONSchema"]),
        // Nothing but `tally-import` links it: swift-syntax takes longer to build than all the rest.
        .target(
            name: "SwiftSchemaImport",
            dependencies: ["JSON", "JSONSchema", "SwiftContent", swiftParser, swiftSyntax]
        ),
        .target(name: "ActivityModel", dependencies: ["JSON"]),

        // Policy: pools, retries, provider tokens, migrations.
        .target(
            name: "Postgres",
            dependencies: ["LibPQ", "Reactor", "Cryptography", "Waiting", logging, serviceLifecycle]
        ),
        .target(
            name: "APNSTransport",
            dependencies: [
                "ActivityModel", "Cryptography", "HTTP2Engine", "JSON", "Reactor", "TLSEngine", "Waiting",
                logging, metrics, serviceLifecycle,
            ]
        ),
        // A private Postgres cluster on this machine, for `tallyd dev` and for the tests.
        .target(name: "LocalPostgres", dependencies: ["Reactor"]),
        .target(
            name: "Schema",
            path: "schema",
            resources: [
                .embedInCode("V0001_registry.sql"), .embedInCode("V0002_intake.sql"),
                .embedInCode("V0003_channels.sql"), .embedInCode("V0004_delivery.sql"),
                .embedInCode("V0005_record.sql"), .embedInCode("V0006_rejudgements.sql"),
                .embedInCode("V0007_topics.sql"), .embedInCode("V0008_receipts.sql"),
                .embedInCode("V0009_continuations.sql"), .embedInCode("V0010_pending_cards.sql"),
                .embedInCode("V0011_follower_counts.sql"), .embedInCode("V0012_lighter_follows.sql"),
                .embedInCode("V0013_sent_with_ring.sql"), .embedInCode("V0014_device_token_states.sql"),
                .embedInCode("V0015_rejected_device_tokens.sql"), .embedInCode("V0016_signs_of_life.sql"),
                .embedInCode("V0017_pushes_by_app.sql"), .embedInCode("V0018_spent_units.sql"),
                .embedInCode("V0019_turns_of_webhooks.sql"), .embedInCode("V0020_settings_of_daemons.sql"),
            ]
        ),

        // The caller's side of `tally-import`.
        .target(name: "SwiftImporter", dependencies: ["JSON", "Reactor", "SwiftContent"]),

        // HTTP/1 connections as the daemon and the simulator serve them: what of a head is refused, and how one ends.
        .target(name: "HTTP1Server", dependencies: [httpTypes, nioCore, nioHTTP1, nioPosix, serviceLifecycle]),

        // The rooms of the engine, each above those that it imports.
        .target(
            name: "Store",
            dependencies: [
                "APITypes", "ActivityModel", "APNSTransport", "Cryptography", "JSON", "Postgres", "ReportTypes",
                "Schema", "Waiting", logging, metrics, serviceLifecycle,
            ]
        ),

        // Cards on phones, the starts that bring them there, and those that new ones continue.
        .target(
            name: "Cards",
            dependencies: ["APITypes", "APNSTransport", "ActivityModel", "Postgres", "Store", "Waiting", logging]
        ),

        // Apps, keys, types, devices, topics.
        .target(
            name: "Registry",
            dependencies: [
                "APITypes", "ActivityModel", "Cards", "Cryptography", "JSON", "JSONSchema", "Postgres", "Store",
                "SwiftContent", "SwiftImporter", logging, serviceLifecycle,
            ]
        ),

        // Channels at Apple.
        .target(
            name: "Channels",
            dependencies: [
                "APITypes", "APNSTransport", "ActivityModel", "Cards", "JSON", "Postgres", "Store", "Waiting",
                logging, metrics, serviceLifecycle,
            ]
        ),

        // Reads what the others have written.
        .target(
            name: "Record",
            dependencies: [
                "APITypes", "ActivityModel", "APNSTransport", "JSON", "Postgres", "ReportTypes", "Store", logging,
                serviceLifecycle,
            ]
        ),

        // Says which daemon works for what.
        .target(name: "Ownership", dependencies: ["Postgres", "Store", logging, serviceLifecycle]),
        // What is posted to webhooks, and when.
        .target(
            name: "Webhooks",
            dependencies: [
                "APITypes", "ActivityModel", "Cryptography", "JSON", "Ownership", "Postgres", "Record", "Store",
                logging, metrics, serviceLifecycle,
            ]
        ),

        // Looks at what sending depends on.
        .target(
            name: "Doctor",
            dependencies: [
                "APITypes", "APNSTransport", "ActivityModel", "Cryptography", "Postgres", "ReportTypes", "Store",
                logging, metrics, serviceLifecycle,
            ]
        ),

        // What waits to be sent: accepting fills it, sending empties it.
        .target(
            name: "DeliveryStore",
            dependencies: [
                "APITypes", "ActivityModel", "APNSTransport", "Cards", "Channels", "JSON", "Postgres", "Registry",
                "Store", "Waiting", logging, metrics, serviceLifecycle,
            ]
        ),

        // Workers that bring what waits to the phones.
        .target(
            name: "Delivery",
            dependencies: [
                "APITypes", "APNSTransport", "ActivityModel", "Cards", "Channels", "DeliveryStore", "JSON", "Postgres",
                "Registry", "Store", "Waiting", logging, metrics, serviceLifecycle,
            ]
        ),

        // Accepts what backends and apps post.
        .target(
            name: "Intake",
            dependencies: [
                "APITypes", "APNSTransport", "ActivityModel", "Cards", "Channels", "DeliveryStore", "JSON", "Postgres",
                "Record", "Registry", "Store", logging, serviceLifecycle,
            ]
        ),

        // Application: services, routes, the typed client.
        .target(
            name: "Orchestrator",
            dependencies: [
                "APITypes", "ActivityModel", "Cards", "Channels", "Delivery", "DeliveryStore", "Doctor", "Intake",
                "JSON", "Ownership", "Postgres", "Record", "Registry", "ReportTypes", "Store", "Webhooks", logging,
                metrics, serviceLifecycle,
            ]
        ),
        .target(name: "APITypes", dependencies: ["ActivityModel", "JSON", "SwiftContent"]),
        // Answers that only tell how things are: users and their export, the audit log, the doctor.
        .target(name: "ReportTypes", dependencies: ["APITypes", "ActivityModel", "JSON"]),
        // The pages of the console, made of the API's answers.
        .target(
            name: "Console",
            dependencies: ["APITypes", "ActivityModel", "Cryptography", "JSON", "ReportTypes"],
            resources: ["console.css", "console.js", "icon.svg"].map { .embedInCode("Assets/\($0)") }
        ),
        .target(
            name: "HTTPAPI",
            dependencies: [
                "APITypes", "ActivityModel", "Channels", "Console", "Cryptography", "DeliveryStore", "HTTP1Server",
                "Intake", "JSON", "Orchestrator", "Record", "Registry", "ReportTypes", "Store", "Webhooks", httpTypes,
                nioCore, nioHTTP1, logging, metrics, coreMetrics, serviceLifecycle,
            ],
            // Links to docs/, and the page that tools/reference makes.
            exclude: ["Documents"],
            plugins: ["EmbedText"]
        ),
        .plugin(name: "EmbedText", capability: .buildTool()),
        .target(
            name: "TallyClient",
            dependencies: [
                "APITypes", "ActivityModel", "JSON", "ReportTypes", "TLSEngine", "Waiting", nioCore, nioHTTP1, nioPosix,
            ]
        ),

        // The app side: no dependency, and the only library for iPhones.
        .target(name: "TallyKit", dependencies: appleFrameworks),

        // What posts to the addresses of webhooks: strangers' servers, and no others.
        .target(name: "WebhookTransport", dependencies: ["Reactor", "TLSEngine", "TallyClient", "Webhooks", nioCore]),

        // Stand-in for Apple; never imports APNSTransport.
        .target(
            name: "APNSSimulator",
            dependencies: [
                "APITypes", "ActivityModel", "Cryptography", "HTTP1Server", "HTTP2Engine", "JSON", "Reactor",
                "TLSEngine", "TallyClient", "Waiting", httpTypes, nioCore, logging, serviceLifecycle,
            ]
        ),

        // Programs.
        .executableTarget(
            name: "tallyd",
            dependencies: [
                "APITypes", "APNSSimulator", "APNSTransport", "ActivityModel", "Console", "Cryptography", "HTTP2Engine",
                "HTTPAPI", "Intake", "JSON", "LocalPostgres", "Orchestrator", "Postgres", "Registry", "Store",
                "TallyClient", "WebhookTransport",
                argumentParser, configuration, logging, metrics, serviceLifecycle, systemPackage, unixSignals,
            ]
        ),
        // A recorded match, played through the server.
        .target(name: "MatchReplay", dependencies: ["APITypes", "ActivityModel", "JSON", "TallyClient"]),
        .executableTarget(
            name: "tally",
            dependencies: [
                "APITypes", "ActivityModel", "JSON", "JSONSchema", "MatchReplay", "ReportTypes", "SwiftContent",
                "SwiftImporter", "TallyClient", argumentParser,
            ]
        ),
        .executableTarget(name: "tally-import", dependencies: ["JSON", "SwiftContent", "SwiftSchemaImport"]),
        .executableTarget(
            name: "apns-sim",
            dependencies: ["APITypes", "APNSSimulator", argumentParser, logging, serviceLifecycle, unixSignals]
        ),

        // Tests: one target per module; TestSupport holds what several share, the private Postgres cluster above all.
        .target(
            name: "TestSupport",
            dependencies: ["JSON", "LocalPostgres", "Postgres", "Reactor", logging],
            path: "Tests/TestSupport"
        ),
        // As TestSupport, for tests with an orchestrator: a `World`, and a sender that writes down what leaves.
        .target(
            name: "OrchestratorTestSupport",
            dependencies: [
                "APITypes", "APNSTransport", "ActivityModel", "Cards", "Channels", "Cryptography", "Delivery",
                "DeliveryStore", "JSON", "Orchestrator", "Postgres", "Record", "Registry", "ReportTypes", "Schema",
                "Store", "TestSupport", "Waiting", "Webhooks", logging, metrics,
            ],
            path: "Tests/OrchestratorTestSupport"
        ),
        .testTarget(name: "JSONTests", dependencies: ["JSON", "TestSupport"]),
        .testTarget(name: "JSONSchemaTests", dependencies: ["JSON", "JSONSchema", "TestSupport"]),
        .testTarget(name: "SwiftContentTests", dependencies: ["JSON", "JSONSchema", "SwiftContent", "TestSupport"]),
        .testTarget(
            name: "SwiftSchemaImportTests",
            dependencies: [
                "JSON", "JSONSchema", "SwiftContent", "SwiftImporter", "SwiftSchemaImport", "TestSupport",
                "tally-import",
            ]
        ),
        .testTarget(
            name: "ActivityModelTests",
            dependencies: ["APITypes", "ActivityModel", "JSON", "TestSupport"]
        ),
        .testTarget(name: "CryptographyTests", dependencies: ["Cryptography", "TestSupport"]),
        .testTarget(name: "ReactorTests", dependencies: ["Reactor", "TestSupport"]),
        .testTarget(name: "TLSEngineTests", dependencies: ["COpenSSL", "Cryptography", "TLSEngine", "TestSupport"]),
        // As TestSupport, for the tests that run with both client sessions.
        .target(name: "HTTP2TestSupport", dependencies: ["HTTP2Engine"], path: "Tests/HTTP2TestSupport"),
        .testTarget(
            name: "HTTP2EngineTests",
            dependencies: [
                "CNGHTTP2", "Cryptography", "HTTP2Engine", "HTTP2TestSupport", "Reactor", "TLSEngine", "TestSupport",
            ]
        ),
        // The whole system as processes, for the tests from end to end and for chaos; and the judge of its promises.
        .target(
            name: "SystemSupport",
            dependencies: [
                "APITypes", "ActivityModel", "Cryptography", "JSON", "LocalPostgres", "Postgres", "Reactor",
                "TallyClient", "TestSupport", "Waiting", logging,
            ],
            path: "Tests/SystemSupport"
        ),
        // tools/chaos: scenarios of faults, each under load, each judged.
        .executableTarget(
            name: "tally-chaos",
            dependencies: [
                "APITypes", "ActivityModel", "JSON", "LocalPostgres", "Postgres", "SystemSupport", "TallyClient",
                "TestSupport", "tallyd", "apns-sim", argumentParser, logging,
            ],
            path: "Tests/Chaos"
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "APITypes", "ActivityModel", "Cryptography", "JSON", "JSONSchema", "LocalPostgres", "Postgres",
                "ReportTypes", "SystemSupport", "TallyClient", "TestSupport", "tallyd", "tally", "tally-import",
                "apns-sim",
            ]
        ),
        // What the documents say, held against the programs; and their samples, compiled.
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "APITypes", "ActivityModel", "HTTPAPI", "JSON", "TallyClient", "TallyKit", "TestSupport",
                "apns-sim", "tally", "tally-chaos", "tallyd", argumentParser,
            ] + appleFrameworks + sampleApp
        ),
        .testTarget(name: "TallyKitTests", dependencies: ["TallyKit"] + appleFrameworks),
        // Lives of an app with TallyKit, on a clock of their own.
        .testTarget(
            name: "AppLivesTests",
            dependencies: [
                "APITypes", "APNSSimulator", "APNSTransport", "ActivityModel", "Cards", "Cryptography", "Delivery",
                "DeliveryStore", "HTTP1Server", "HTTPAPI", "JSON", "Orchestrator", "OrchestratorTestSupport",
                "Postgres", "Reactor", "Schema", "Store", "TLSEngine", "TallyKit", "TestSupport", httpTypes, logging,
                nioCore,
            ]
        ),
        .testTarget(name: "LibPQTests", dependencies: ["LibPQ", "Reactor", "TestSupport"]),
        .testTarget(
            name: "PostgresTests",
            dependencies: ["LibPQ", "LocalPostgres", "Postgres", "Reactor", "TestSupport", logging, serviceLifecycle]
        ),
        .testTarget(
            name: "APNSTransportTests",
            dependencies: [
                "APNSTransport", "ActivityModel", "Cryptography", "HTTP2Engine", "HTTP2TestSupport", "JSON", "Reactor",
                "TLSEngine", "TestSupport", logging, metrics, metricsTestKit, serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "APITypesTests",
            dependencies: ["APITypes", "ActivityModel", "JSON", "JSONSchema", "ReportTypes", "TestSupport"]
        ),
        // The heart: a target for each room, and one for what crosses rooms.
        .testTarget(
            name: "StoreTests",
            dependencies: [
                "APITypes", "APNSTransport", "ActivityModel", "Cryptography", "Intake", "JSON", "Orchestrator",
                "OrchestratorTestSupport", "Postgres", "Registry", "Store", "TestSupport", "Webhooks", logging,
            ]
        ),
        .testTarget(
            name: "RegistryTests",
            dependencies: [
                "APITypes", "ActivityModel", "Cards", "Channels", "Cryptography", "Intake", "JSON", "Orchestrator",
                "OrchestratorTestSupport", "Postgres", "Registry", "ReportTypes", "Store", "TestSupport",
            ]
        ),
        .testTarget(
            name: "ChannelsTests",
            dependencies: [
                "APITypes", "APNSTransport", "ActivityModel", "Cards", "Channels", "Cryptography", "Delivery",
                "DeliveryStore", "Intake", "JSON", "Orchestrator", "OrchestratorTestSupport", "Postgres", "Record",
                "Store", "TestSupport", metricsTestKit,
            ]
        ),
        .testTarget(
            name: "RecordTests",
            dependencies: [
                "APITypes", "APNSTransport", "ActivityModel", "Cards", "Channels", "Cryptography", "Delivery", "Intake",
                "JSON", "Orchestrator", "OrchestratorTestSupport", "Postgres", "Record", "Registry", "ReportTypes",
                "Store", "TestSupport", logging, serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "OwnershipTests",
            dependencies: ["Ownership", "Postgres", "Schema", "Store", "TestSupport", logging, serviceLifecycle]
        ),
        .testTarget(
            name: "DoctorTests",
            dependencies: [
                "APITypes", "APNSTransport", "ActivityModel", "Cards", "Cryptography", "DeliveryStore", "Doctor",
                "JSON", "Orchestrator", "OrchestratorTestSupport", "Ownership", "Postgres", "ReportTypes", "Store",
                "TestSupport", "Webhooks", metricsTestKit,
            ]
        ),
        .testTarget(
            name: "WebhooksTests",
            dependencies: [
                "APITypes", "ActivityModel", "Cards", "Cryptography", "DeliveryStore", "JSON", "Orchestrator",
                "OrchestratorTestSupport", "Ownership", "Postgres", "Record", "Store", "TestSupport", "Webhooks",
                serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "IntakeTests",
            dependencies: [
                "APITypes", "ActivityModel", "Cards", "Channels", "Cryptography", "Delivery", "DeliveryStore", "Intake",
                "JSON", "Orchestrator", "OrchestratorTestSupport", "Postgres", "Record", "Registry", "Store",
                "SwiftImporter", "TestSupport", "tally-import", logging, metricsTestKit,
            ]
        ),
        .testTarget(
            name: "DeliveryTests",
            dependencies: [
                "APITypes", "APNSTransport", "ActivityModel", "Cards", "Channels", "Cryptography", "Delivery",
                "DeliveryStore", "Intake", "JSON", "Orchestrator", "OrchestratorTestSupport", "Postgres", "Record",
                "Registry", "Store", "TestSupport", "Waiting", logging, metricsTestKit, serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "OrchestratorTests",
            dependencies: [
                "APITypes", "APNSTransport", "ActivityModel", "Cards", "Channels", "Cryptography", "Delivery",
                "DeliveryStore", "Intake", "JSON", "Orchestrator", "OrchestratorTestSupport", "Postgres", "Record",
                "Registry", "ReportTypes", "Schema", "Store", "TestSupport", logging, serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "APITypes", "APNSTransport", "ActivityModel", "Cards", "Channels", "Cryptography", "Delivery",
                "DeliveryStore", "JSON", "Orchestrator", "Ownership", "Postgres", "Registry", "Schema", "Store",
                "TestSupport", logging,
            ]
        ),
        .testTarget(
            name: "HTTP1ServerTests",
            dependencies: [
                "HTTP1Server", httpTypes, nioCore, nioEmbedded, nioHTTP1, nioPosix, logging, serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "HTTPAPITests",
            dependencies: [
                "APITypes", "ActivityModel", "Cards", "Console", "Cryptography", "HTTP1Server", "HTTPAPI", "Intake",
                "JSON", "Orchestrator", "OrchestratorTestSupport", "Postgres", "Record", "Registry", "ReportTypes",
                "Schema", "Store", "TestSupport", httpTypes, nioCore, nioEmbedded, nioHTTP1, nioPosix, logging, metrics,
                coreMetrics, serviceLifecycle,
            ]
        ),
        // Over real HTTP, with a real database.
        .testTarget(
            name: "ConsoleTests",
            dependencies: [
                "APITypes", "ActivityModel", "Console", "Cryptography", "HTTPAPI", "JSON", "Orchestrator",
                "OrchestratorTestSupport", "Postgres", "Schema", "Store", "TestSupport", logging, serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "TallyClientTests",
            dependencies: [
                "APITypes", "ActivityModel", "Cryptography", "JSON", "TLSEngine", "TallyClient", "TestSupport",
                nioCore, nioEmbedded, nioHTTP1, nioPosix,
            ]
        ),
        // With a receiver in Python that verifies with a library of others.
        .testTarget(
            name: "WebhookTransportTests",
            dependencies: [
                "APITypes", "ActivityModel", "Cryptography", "JSON", "Reactor", "TestSupport", "WebhookTransport",
                "Webhooks",
            ]
        ),
        .testTarget(
            name: "TallydTests",
            dependencies: ["APITypes", "Cryptography", "HTTPAPI", "JSON", "Orchestrator", "Store", "tallyd", logging]
        ),
        .testTarget(
            name: "TallyCLITests",
            dependencies: [
                "APITypes", "ActivityModel", "JSON", "MatchReplay", "ReportTypes", "SwiftContent", "TallyClient",
                "tally", "tally-import", argumentParser,
            ]
        ),
        .testTarget(
            name: "APNSSimulatorTests",
            dependencies: [
                "APITypes", "APNSSimulator", "ActivityModel", "Cryptography", "HTTP2Engine", "JSON", "Reactor",
                "TLSEngine", "TestSupport", logging,
            ]
        ),
    ]
)

// These stand in for Apple's, by name and types.
#if os(Linux)
package.targets += [
    .target(name: "ActivityKit", path: "Tests/Stubs/ActivityKit"),
    .target(name: "UIKit", path: "Tests/Stubs/UIKit"),
    .target(name: "SwiftUI", dependencies: ["UIKit"], path: "Tests/Stubs/SwiftUI"),
    .target(name: "WidgetKit", dependencies: ["ActivityKit", "SwiftUI"], path: "Tests/Stubs/WidgetKit"),
    .executableTarget(
        name: "sample-app",
        dependencies: ["ActivityKit", "SwiftUI", "TallyKit", "UIKit"],
        path: "docs/samples/app/App",
        exclude: ["Info.plist"]
    ),
    .executableTarget(
        name: "sample-widget",
        dependencies: ["ActivityKit", "SwiftUI", "WidgetKit"],
        path: "docs/samples/app/Widget",
        exclude: ["Info.plist"]
    ),
]
#endif

// The programs of tools/bench. Not part of an ordinary build, so that measuring costs nothing where nothing is
// measured; in this package and no other, because they measure what only it may call.
if Context.environment["TALLY_BENCHES"] != nil {
    package.targets += [
        // What the programs that measure Tally share: their options, and metrics at the daemon's price.
        .target(name: "BenchSupport", dependencies: [metrics], path: "tools/benches/support"),
        .executableTarget(
            name: "bench-transport",
            dependencies: ["APNSTransport", "ActivityModel", "BenchSupport", "Cryptography", "HTTP2Engine", logging],
            path: "tools/benches/transport"
        ),
        .executableTarget(
            name: "bench-orchestrator",
            dependencies: [
                "APITypes", "APNSTransport", "ActivityModel", "BenchSupport", "Channels", "Cryptography", "Delivery",
                "Intake", "JSON", "LocalPostgres", "Orchestrator", "Postgres", "Registry", "Schema", "Store",
                "WebhookTransport", "Webhooks", logging, metrics, serviceLifecycle,
            ],
            path: "tools/benches/orchestrator"
        ),
        // The other end: as little server as will do, so that the clients are what is measured.
        .executableTarget(
            name: "bench-sink",
            dependencies: ["CNGHTTP2", "COpenSSL"],
            path: "tools/benches/sink",
            cSettings: [.define("_GNU_SOURCE")]
        ),
        // The phones that report at kick-off: as little client as will do.
        .executableTarget(name: "bench-phones", path: "tools/benches/phones", cSettings: [.define("_GNU_SOURCE")]),
        .executableTarget(
            name: "bench-schema",
            dependencies: ["JSON", "JSONSchema"],
            path: "tools/benches/schema",
            sources: ["BenchSchema.swift"]
        ),
    ]
}

for target in package.targets where [.regular, .executable, .test].contains(target.type) && target.cSettings == nil {
    target.swiftSettings = swiftSettings + (target.swiftSettings ?? [])
}

extension Target.Dependency {
    var targetName: String? {
        switch self {
        case .targetItem(let name, _), .byNameItem(let name, _): name
        default: nil
        }
    }
}

/// Leaves out the targets that these tests do not need.
@MainActor
func keepOnly(tests: Set<String>) {
    var needed = tests
    while true {
        let more = package.targets.filter { needed.contains($0.name) }
            .flatMap { $0.dependencies.compactMap(\.targetName) }
        if needed.isSuperset(of: more) { break }
        needed.formUnion(more)
    }
    package.products = []
    package.targets.removeAll { $0.type != .plugin && !needed.contains($0.name) }
}

// `tools/test --quick` sets it.
if let test = Context.environment["TALLY_TEST_TARGET"] { keepOnly(tests: [test]) }
