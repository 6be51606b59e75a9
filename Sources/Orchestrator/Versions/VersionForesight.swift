import ActivityModel
import Postgres
import Store

/// What a change of a type's versions would mean to what runs, looked up before the transaction that changes the type:
/// nothing of a locked type is accepted. A state that is accepted in between may be withheld unforeseen.
struct VersionForesight: Sendable {
    /// The versions as they were.
    let before: TypeVersions
    /// The app versions from which a newest state would be withheld and is not yet.
    let withheld: Set<String>
}

extension Orchestrator {
    /// Looks ahead page by page; nil for a type that is not there yet.
    func foresee(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ change: (inout [TypeContext.Version]) throws -> Void
    ) async throws -> VersionForesight? {
        var versions = try await TypeVersionRows.compiled(app, name) { try await database.query($0) }
        guard !versions.isEmpty else { return nil }
        let before = TypeContext(app: app, name: name, versions: versions).versions
        try change(&versions)
        let after = TypeContext(app: app, name: name, versions: versions)
        var withheld: Set<String> = []
        var place: String? = after.versions == before ? nil : ""
        while let last = place {
            let page = try await FollowerPage.read(after.key, after: last) { try await database.query($0) }
            let changed = try await page.judged(
                by: after,
                where: { before.version(ofApp: AppVersion($0)) != after.version(ofStored: $0) },
                on: { try await database.query($0) }
            )
            withheld.formUnion(changed.filter(\.isWithheld).map(\.appVersion))
            place = page.last
        }
        return VersionForesight(before: before, withheld: withheld)
    }
}
