import ActivityModel
import Postgres
import Store

/// The effects that a change of a type's versions would have on running activities.
///
/// A registration looks ahead, page by page, before the transaction that changes the type: nothing of a locked type is
/// accepted. A state that is accepted in between may be withheld unforeseen.
struct VersionForesight: Sendable {
    /// The versions as they were.
    let before: TypeVersions
    /// The effects of new schemas; nil for the same schemas.
    let compatibility: TypeCompatibility?
    /// The app versions from which a newest state would be withheld and is not yet.
    let withheld: Set<String>
}

extension Registry {
    /// Looks ahead; nil for a type that is not there yet.
    ///
    /// - Throws: ``PostgresError``.
    func foresee(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ schemas: TypeSchemas,
        minAppVersion: AppVersion?
    ) async throws -> VersionForesight? {
        var versions = try await TypeVersionRows.compiled(app, name) { try await database.query($0) }
        guard !versions.isEmpty else { return nil }
        let before = TypeContext(app: app, name: name, versions: versions)
        try schemas.change(&versions, minAppVersion: minAppVersion)
        let after = TypeContext(app: app, name: name, versions: versions)
        var compatibility: TypeCompatibility?
        if after.versions.newest != before.versions.newest {
            compatibility = try await tryOut(
                TypeCompatibility(schemas, minAppVersion: minAppVersion, before: before),
                before.key
            )
        }
        return VersionForesight(
            before: before.versions,
            compatibility: compatibility,
            withheld: try await withheld(from: before, to: after)
        )
    }

    /// Tries new schemas on all activities that run.
    private func tryOut(
        _ compatibility: TypeCompatibility,
        _ type: RegistryCaches.TypeKey
    ) async throws -> TypeCompatibility {
        var compatibility = compatibility
        var place: Int64? = .max
        while let key = place {
            let page = try await RunningPage.read(type, before: key) { try await database.query($0) }
            compatibility.add(page)
            for activity in page.activities {
                let doubtful = compatibility.doubtful(activity)
                let unused = try await versionUse.unused(doubtful)
                for follower in doubtful where !unused.contains(follower) {
                    compatibility.add(follower.appVersion, of: activity)
                }
            }
            place = page.last
        }
        return compatibility
    }

    private func withheld(from before: TypeContext, to after: TypeContext) async throws -> Set<String> {
        var withheld: Set<String> = []
        var place: String? = after.versions == before.versions ? nil : ""
        while let last = place {
            let page = try await FollowerPage.read(after.key, after: last) { try await database.query($0) }
            let changed = try await page.judged(
                by: after,
                where: { before.versions.version(ofApp: AppVersion($0)) != after.version(ofStored: $0) },
                on: { try await database.query($0) }
            )
            withheld.formUnion(changed.filter(\.isWithheld).map(\.appVersion))
            place = page.last
        }
        return withheld
    }
}
