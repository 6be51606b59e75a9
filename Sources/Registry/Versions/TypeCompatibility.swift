import APITypes
import ActivityModel
import JSON
import JSONSchema
import Store

/// The effects of new schemas of a type on the versions that phones decode now, and on running activities.
///
/// A registration makes it, adds page after page of the activities before it locks the type, and answers with
/// ``findings``.
struct TypeCompatibility: Sendable {
    let schemas: TypeSchemas
    /// Which versions phones decode when the new one is there.
    let after: TypeVersions
    /// The differences to every version that is current so far.
    private let differences: [VersionDifference]
    /// The versions that stay and cannot decode all that the new schemas let in.
    private let widened: Set<Int>
    /// Whether any activity of the type runs.
    private(set) var isRunning = false
    private var breaks: [SchemaFinding] = []
    private var following: [Int: Following] = [:]

    /// Compares new schemas with all versions of the type as they are `before`.
    init(_ schemas: TypeSchemas, minAppVersion: AppVersion?, before: TypeContext) {
        let after = before.versions.adding(minAppVersion: minAppVersion)
        differences = before.versions.current.flatMap { version in
            [
                (SchemaPart.attributes, schemas.attributesDocument),
                (.contentState, schemas.contentStateDocument),
            ].flatMap { part, document in
                let earlier = before.schema(part, version: version)
                return SchemaComparison.differences(from: earlier?.document ?? true, to: document).map { difference in
                    VersionDifference(
                        part: part,
                        difference: difference,
                        version: version,
                        isReplaced: !after.reachable.contains(version)
                    )
                }
            }
        }
        widened = Set(differences.filter(\.isWidening).map(\.version))
        self.schemas = schemas
        self.after = after
    }

    // MARK: Activities

    /// Tries the schemas on the activities of a page: on their attributes, which never change, and their newest states.
    mutating func add(_ page: RunningPage) {
        for activity in page.activities {
            isRunning = true
            tryOut(schemas.attributes, of: .attributes, on: activity.attributes, activity)
            tryOut(schemas.contentState, of: .contentState, on: activity.contentState, activity)
            guard activity.usesChannel else { continue }
            for version in widened { following[version, default: Following()].add(channel: activity.id) }
        }
    }

    /// Reports each broken keyword once.
    private mutating func tryOut(
        _ schema: CompiledSchema,
        of part: SchemaPart,
        on content: JSONValue,
        _ activity: RunningPage.Activity
    ) {
        for violation in schema.validate(content)
        where !breaks.contains(where: { $0.part == part && $0.pointer == violation.schema }) {
            breaks.append(
                SchemaFinding(
                    part: part,
                    pointer: violation.schema,
                    code: violation.keyword,
                    message: "the activity '\(activity.id)' does not satisfy it: \(violation.message)",
                    severity: .breaking
                )
            )
        }
    }

    /// The followers of an activity by a widened version, unless enough such activities are known. Ask whether anybody
    /// still has these app versions (``VersionUse``), and report them with ``add(_:of:)``.
    func doubtful(_ activity: RunningPage.Activity) -> [Follower] {
        activity.appVersions.filter { appVersion in
            let version = version(of: appVersion)
            return widened.contains(version) && following[version]?.isEnough(of: appVersion) != true
        }.map { Follower(activityKey: activity.key, appVersion: $0) }
    }

    /// Phones with this app version follow the activity, or may.
    mutating func add(_ appVersion: String, of activity: RunningPage.Activity) {
        following[version(of: appVersion), default: Following()].add(appVersion, activity.id)
    }

    private func version(of appVersion: String) -> Int { after.version(ofApp: AppVersion(appVersion)) }

    // MARK: Findings

    /// The differences, proved by running activities. Each place is named once.
    var findings: [SchemaFinding] {
        var merged = differences.map { $0.finding(following[$0.version]) }
        for proof in breaks {
            let same = merged.indices.filter { merged[$0].part == proof.part && proof.isAbout(merged[$0].pointer) }
            if same.isEmpty { merged.append(proof) }
            for index in same {
                merged[index].severity = .breaking
                merged[index].message += "; " + proof.message
            }
        }
        return merged
    }
}

extension SchemaFinding {
    /// Whether it is about a place in the schema, or one keyword there.
    fileprivate func isAbout(_ place: JSONPointer) -> Bool {
        pointer == place || pointer.tokens.dropLast().elementsEqual(place.tokens)
    }

    /// As the answer to a request that is refused for it.
    var fieldError: FieldError {
        FieldError(
            pointer: JSONPointer(tokens: [part.rawValue + "_schema"]).appending(contentsOf: pointer),
            code: code,
            message: message,
            schemaVersion: schemaVersion
        )
    }
}
