import JSON

/// The file of profiles. Fields that it does not know stay.
struct ProfileFile: Equatable {
    private(set) var document: JSONValue

    /// - Throws: ``UsageError`` if the file is not a JSON object.
    init(_ bytes: [UInt8]?, path: String) throws {
        document = try bytes.map { try Files.parse($0, from: path) } ?? [:]
        guard document.object != nil else { throw UsageError("\(path) must hold a JSON object.") }
    }

    /// The default profile.
    var standard: String? { document["default"]?.string }

    var names: [String] { document["profiles"]?.object?.keys.sorted() ?? [] }

    subscript(name: String) -> Profile? {
        document["profiles"]?[name]?.object.map { profile in
            Profile(
                url: profile["url"]?.string,
                key: profile["key"]?.string,
                caFile: profile["ca_file"]?.string,
                app: profile["app"]?.string
            )
        }
    }

    mutating func add(_ profile: Profile, as name: String) {
        let fields = [("url", profile.url), ("key", profile.key), ("ca_file", profile.caFile), ("app", profile.app)]
        let object = JSONObject(fields.compactMap { key, value in value.map { (key, .string($0)) } })
        var profiles = document["profiles"]?.object ?? JSONObject()
        profiles[name] = .object(object)
        set("profiles", .object(profiles))
        if standard == nil { set("default", .string(name)) }
    }

    /// - Throws: ``UsageError`` if there is no such profile.
    mutating func use(_ name: String) throws(UsageError) {
        try require(name)
        set("default", .string(name))
    }

    /// If the profile is the default, there is no default afterwards.
    ///
    /// - Throws: ``UsageError`` if there is no such profile.
    mutating func remove(_ name: String) throws(UsageError) {
        try require(name)
        var profiles = document["profiles"]?.object ?? JSONObject()
        profiles[name] = nil
        set("profiles", .object(profiles))
        if standard == name { set("default", nil) }
    }

    private func require(_ name: String) throws(UsageError) {
        guard !names.contains(name) else { return }
        let known = names.isEmpty ? "none" : names.joined(separator: ", ")
        throw UsageError("There is no profile '\(name)'; there are: \(known).")
    }

    /// Nil removes the field.
    private mutating func set(_ key: String, _ value: JSONValue?) {
        var object = document.object ?? JSONObject()
        object[key] = value
        document = .object(object)
    }

    /// The profiles without their keys.
    var listing: JSONValue {
        .array(
            names.map { name in
                var fields: JSONObject = ["name": .string(name), "default": .bool(name == standard)]
                fields["url"] = self[name]?.url.map { .string($0) }
                fields["app"] = self[name]?.app.map { .string($0) }
                return .object(fields)
            }
        )
    }
}
