package import Foundation

/// Where this build's tokens are valid.
package enum PushEnvironment {
    /// A build from Xcode has a profile with the entitlement `aps-environment` of `development`. TestFlight's profiles say
    /// `production`, and an app from the App Store has none.
    ///
    /// - Parameter profile: `embedded.mobileprovision`; nil if there is none.
    /// - Returns: `sandbox` or `production`.
    package static func ofThisBuild(profile: Data?) -> String {
        #if targetEnvironment(simulator)
        return "sandbox"
        #else
        guard let profile else { return "production" }
        // The profile is a signed property list: the list itself stands in it as text.
        let text = String(decoding: profile, as: UTF8.self)
        guard let key = text.range(of: "<key>aps-environment</key>") else { return "production" }
        let value = text[key.upperBound...].drop { $0.isWhitespace }
        return value.hasPrefix("<string>development</string>") ? "sandbox" : "production"
        #endif
    }
}
