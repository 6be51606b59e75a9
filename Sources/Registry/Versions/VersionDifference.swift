import APITypes
import JSONSchema

/// One difference between a new version of a type and one that is current so far.
struct VersionDifference {
    let part: SchemaPart
    let difference: SchemaDifference
    /// The earlier version.
    let version: Int
    /// Whether the new version takes its place: its apps get content made for the new one.
    let isReplaced: Bool

    /// Whether the new version allows states that phones with the earlier version, which stays, cannot decode.
    /// Additions to attributes do not matter here: the attributes of a running activity never change.
    var isWidening: Bool { !isReplaced && part == .contentState && difference.breaks.contains(.earlierReaders) }

    /// The finding about it. A difference from a replaced version is breaking if it breaks anything at all, because it
    /// hits running activities. A widening beside a version that stays is breaking if `following` decode that version:
    /// content that uses the widening would be refused for their activities.
    func finding(_ following: Following?) -> SchemaFinding {
        let hurt = isWidening ? following : nil
        let breaks = hurt != nil || (isReplaced && !difference.breaks.isEmpty)
        return SchemaFinding(
            part: part,
            pointer: difference.pointer,
            code: difference.kind.rawValue,
            message: difference.message + (hurt.map { "; what makes use of it is refused while \($0.words)" } ?? ""),
            severity: breaks ? .breaking : .warning,
            schemaVersion: version
        )
    }
}
