// swift-tools-version: 6.2
import PackageDescription

// The modules that peers' and callers' bytes reach, and their tests, as a package of their own: `tools/test` builds it
// with AddressSanitizer, which for the whole project would cost minutes. The importer of Swift sources is not among
// them: for swift-syntax that alone would be minutes, and it runs in a process of its own. Folders and settings are
// those of the root package.
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
let mechanism: [SwiftSetting] = [.strictMemorySafety()]

let package = Package(
    name: "sanitized",
    targets: [
        .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl"),
        .systemLibrary(name: "CLinux"),
        .target(name: "Reactor", dependencies: ["CLinux"], swiftSettings: mechanism),
        .target(name: "Cryptography", dependencies: ["COpenSSL"], swiftSettings: mechanism),
        .target(name: "TLSEngine", dependencies: ["COpenSSL"], swiftSettings: mechanism),
        .target(name: "HTTP2Engine", dependencies: ["CNGHTTP2", "Reactor", "TLSEngine"], swiftSettings: mechanism),
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
        .target(name: "LocalPostgres", dependencies: ["Reactor"]),
        // Without its folder Database, which would bring half of the project.
        .target(
            name: "TestSupport",
            dependencies: ["JSON", "LocalPostgres", "Reactor"],
            path: "Tests/TestSupport",
            exclude: ["Database"]
        ),
        .testTarget(name: "JSONTests", dependencies: ["JSON", "TestSupport"]),
        .testTarget(name: "JSONSchemaTests", dependencies: ["JSON", "JSONSchema", "TestSupport"]),
        .testTarget(name: "SwiftContentTests", dependencies: ["JSON", "JSONSchema", "SwiftContent", "TestSupport"]),
        .testTarget(name: "TLSEngineTests", dependencies: ["COpenSSL", "Cryptography", "TLSEngine", "TestSupport"]),
        .target(name: "HTTP2TestSupport", dependencies: ["HTTP2Engine"], path: "Tests/HTTP2TestSupport"),
        .testTarget(
            name: "HTTP2EngineTests",
            dependencies: [
                "CNGHTTP2", "Cryptography", "HTTP2Engine", "HTTP2TestSupport", "Reactor", "TLSEngine", "TestSupport",
            ]
        ),
    ]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = swiftSettings + (target.swiftSettings ?? [])
}
