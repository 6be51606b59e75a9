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

    /// Whether the new version lets states in that phones with the earlier one, which stays, cannot decode. What is
    /// added to attributes does not matter here: those of an activity that runs never change.
    var isWidening: Bool { !isReplaced && part == .contentState && difference.breaks.contains(.earlierReaders) }

    /// What is to be told about it. A difference to a version that is replaced breaks whatever runs; a widening beside
    /// one that stays does where `following` decode that: nothing that makes use of it would be accepted for their
    /// activities.
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
