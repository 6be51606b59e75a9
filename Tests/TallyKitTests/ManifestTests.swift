import Foundation
import Testing

/// What an app that adds this repository gets, as `Package.swift` says it.
@Suite("The package of an app")
struct ManifestTests {
    private func manifest() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "Package.swift"), encoding: .utf8)
    }

    @Test("TallyKit depends on nothing but the stand-ins, and every other package is behind the trait")
    func traits() throws {
        let manifest = try manifest()
        #expect(manifest.contains(#".target(name: "TallyKit", dependencies: appleFrameworks),"#))
        // The one function that makes such a dependency gives it the condition.
        #expect(manifest.matches(of: /\.product\(name:/).count == 1)
        #expect(manifest.contains(#".product(name: product, package: package, condition: .when(traits: ["Server"]))"#))
    }

    @Test("the stand-ins exist on Linux alone")
    func standIns() throws {
        let manifest = try manifest()
        let onLinux = manifest.matches(of: /#if os\(Linux\)\n(?:(?!#endif)[\s\S])*?(?=#else|#endif)/).map {
            String($0.output)
        }
        for name in ["ActivityKit", "UIKit", "SwiftUI", "WidgetKit", "sample-app", "sample-widget"] {
            let mentions = manifest.components(separatedBy: "\"\(name)\"").count - 1
            #expect(onLinux.map { $0.components(separatedBy: "\"\(name)\"").count - 1 }.reduce(0, +) == mentions)
        }
    }
}
