import APITypes
import ActivityModel
import ArgumentParser
import JSON

/// `ACTIVITY=WHOM`: the audience of one of the recorded activities.
///
/// WHOM is one of:
/// - `all`: every device with a start token for the type
/// - `none`
/// - `@FILE`: JSON in the API's form
/// - a range of names: `devices:phone-:1-500` is phone-1 to phone-500, `devices:phone-:0001-0500` is phone-0001 to
///   phone-0500. `users:` does the same for users.
struct AudienceArgument: ExpressibleByArgument, Equatable {
    /// The form of the audience.
    enum Source: Equatable {
        case audience(Audience)
        case file(String)
    }

    let activityID: ActivityID
    let source: Source

    init?(argument: String) {
        // Ids contain no `=`, so the first one ends the id.
        let sides = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard sides.count == 2, let activityID = ActivityID(String(sides[0])), let source = Self.source(sides[1]) else {
            return nil
        }
        self.activityID = activityID
        self.source = source
    }

    private static func source(_ text: Substring) -> Source? {
        switch text {
        case "all": return .audience(Audience(allOfType: true))
        case "none": return .audience(Audience())
        case _ where text.hasPrefix("@"): return .file(String(text.dropFirst()))
        case _ where text.hasPrefix("devices:"):
            guard let names = names(text.dropFirst("devices:".count)) else { return nil }
            let devices = names.compactMap { DeviceID($0) }
            return devices.count == names.count ? .audience(Audience(devices: devices)) : nil
        case _ where text.hasPrefix("users:"):
            guard let names = names(text.dropFirst("users:".count)) else { return nil }
            let users = names.compactMap { UserID($0) }
            return users.count == names.count ? .audience(Audience(users: users)) : nil
        default: return nil
        }
    }

    /// `phone-:1-500`. If the first number has leading zeros, all names get its width.
    private static func names(_ text: Substring) -> [String]? {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let bounds = text[text.index(after: colon)...].split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2, let first = UInt32(bounds[0]), let last = UInt32(bounds[1]), first <= last,
            last - first < 1_000_000
        else { return nil }
        let width = bounds[0].hasPrefix("0") ? bounds[0].count : 0
        return (first...last).map { number in
            let digits = String(number)
            return text[..<colon] + String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
    }

    /// The audience. Reads the file, if one is named.
    func audience() throws -> Audience {
        switch source {
        case .audience(let audience): audience
        case .file(let path): try Audience(json: try Files.readJSON(path))
        }
    }
}
