import APITypes
import ActivityModel
import JSON
import JSONSchema
import Postgres

/// What a new version of a type means to the versions that phones decode now, and to the activities that run.
struct TypeCompatibility {
    /// What is stored of an earlier version.
    struct Earlier {
        let number: Int
        let attributes: JSONValue
        let contentState: JSONValue
    }

    let schemas: TypeSchemas
    /// Which versions phones decode before the new one is there, and then.
    let before, after: TypeVersions

    // MARK: Versions

    /// The differences to every version that is current.
    func differences(to earlier: [Earlier]) -> [VersionDifference] {
        earlier.filter { before.current.contains($0.number) }.flatMap { earlier in
            differences(.attributes, earlier.attributes, schemas.attributesDocument, earlier.number)
                + differences(.contentState, earlier.contentState, schemas.contentStateDocument, earlier.number)
        }
    }

    private func differences(
        _ part: SchemaPart,
        _ earlier: JSONValue,
        _ later: JSONValue,
        _ version: Int
    ) -> [VersionDifference] {
        SchemaComparison.differences(from: earlier, to: later).map { difference in
            VersionDifference(
                part: part,
                difference: difference,
                version: version,
                isReplaced: !after.reachable.contains(version)
            )
        }
    }

    // MARK: Activities

    /// The most running activities that a new version is tried on.
    private static let triedActivities = 1000

    /// Whether any activity of the type runs, and what the newest ones hold that the new schemas refuse: their
    /// attributes, which never change, and their newest states. Each broken keyword is told once.
    func breaks(
        _ app: BundleID,
        _ name: ActivityTypeName,
        on connection: PostgresConnection
    ) async throws -> (isRunning: Bool, findings: [SchemaFinding]) {
        let rows = try await connection.query(
            """
            SELECT a.activity_id, a.attributes::text, c.content_state::text
            FROM activities AS a JOIN changes AS c USING (activity_key, revision)
            WHERE a.bundle_id = \(app.rawValue) AND a.type_name = \(name.rawValue) AND a.state <> 'ended'
            ORDER BY a.activity_key DESC LIMIT \(Self.triedActivities)
            """
        )
        var findings: [SchemaFinding] = []
        for (activity, attributes, contentState) in try rows.decoded(as: (String, String, String).self) {
            let violations =
                schemas.attributes.validate(try JSONValue(parsing: attributes)).map { (SchemaPart.attributes, $0) }
                + schemas.contentState.validate(try JSONValue(parsing: contentState)).map { (.contentState, $0) }
            for (part, violation) in violations
            where !findings.contains(where: { $0.part == part && $0.pointer == violation.schema }) {
                findings.append(
                    SchemaFinding(
                        part: part,
                        pointer: violation.schema,
                        code: violation.keyword,
                        message: "the activity '\(activity)' does not satisfy it: \(violation.message)",
                        severity: .breaking
                    )
                )
            }
        }
        return (!rows.isEmpty, findings)
    }

    /// Differences with what runs as their proof: a place is named once.
    static func merged(_ differences: [SchemaFinding], with breaks: [SchemaFinding]) -> [SchemaFinding] {
        var merged = differences
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
