extension JSONValue {
    /// This value changed by a JSON merge patch (RFC 7396): a member that is null goes, an object is merged, and
    /// everything else is replaced.
    package func merging(_ patch: JSONValue) -> JSONValue {
        guard let changes = patch.object else { return patch }
        var result = object ?? JSONObject()
        for (key, change) in changes.entries {
            result[key] = change.isNull ? nil : (result[key] ?? .null).merging(change)
        }
        return .object(result)
    }
}
