/// What Tally should know of the phone. Nothing in it is ever taken back to "unknown".
package struct PhoneFacts: Codable, Hashable, Sendable {
    /// `sandbox` for builds from Xcode, `production` for all others.
    package var environment: String
    package var osVersion: String
    package var appVersion: String
    package var activitiesEnabled: Bool?
    package var frequentPushesEnabled: Bool?
    /// The token of ordinary pushes, as hex text.
    package var deviceToken: String?
    /// The push-to-start tokens by activity type, as hex text.
    package var startTokens: [String: String] = [:]

    /// Whether a card can listen to a channel: since iOS 18.
    var knowsChannels: Bool { osVersion.split(separator: ".").first.flatMap { Int($0) }.map { $0 >= 18 } ?? true }

    package init(environment: String, osVersion: String, appVersion: String) {
        self.environment = environment
        self.osVersion = osVersion
        self.appVersion = appVersion
    }
}
