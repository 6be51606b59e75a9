import APITypes
import ActivityModel
import DeliveryStore
import JSON
import Postgres
import Registry
import Store

/// The app versions that follow the activities of a group of changes, and what accepted states mean to them.
///
/// A state must be decodable by every version of the type that they use. A retired version is an exception: a state
/// that it cannot decode is accepted and withheld from its phones. A version whose phones states are withheld from
/// already blocks nothing.
struct Followers {
    private struct Standing {
        let appVersion: String
        var isWithheld: Bool
        /// The revision at which that was last changed in this group.
        var changedAt: Revision?
    }

    private var followers: [Int64: [Standing]] = [:]
    private var updates: [RegistryCaches.TypeKey: PGTimestamp] = [:]
    private var events: [Event] = []
    private var acceptedKeys: Set<Int64> = []

    /// Reads the held types (``TypeVersionRows/hold(_:)``) and what follows the activities
    /// (``AppVersionRows/selection(_:)``).
    init(types: Rows, rows: Rows) throws {
        updates = try TypeVersionRows.updates(types)
        try add(rows)
    }

    /// For a look ahead that decides nothing: no type is held.
    init(rows: Rows) throws {
        try add(rows)
    }

    private mutating func add(_ rows: Rows) throws {
        for (key, appVersion, isWithheld) in try rows.decoded(as: (Int64, String, Bool).self) {
            followers[key, default: []].append(Standing(appVersion: appVersion, isWithheld: isWithheld))
        }
    }

    /// - Throws: ``OutdatedType`` if content was judged by a type that was changed since.
    func check(_ type: TypeContext) throws(OutdatedType) { try type.check(updates) }

    /// The form in which a state goes to all who follow the activity.
    ///
    /// - Throws: 422 `invalid_content_state`, which names the versions that refuse it.
    func settle(_ content: JudgedContent, of activity: ActivityFacts) throws(Problem) -> JudgedContent.Settled {
        do {
            return try content.settled(for: required(content.type, activity))
        } catch {
            throw .invalidContentState(error.errors)
        }
    }

    private func required(_ type: TypeContext, _ activity: ActivityFacts) -> Set<Int> {
        let standings = followers[activity.key] ?? []
        guard !standings.isEmpty || activity.delivery.usesChannel else { return [] }
        var required = Set(
            standings.filter { !$0.isWithheld }.map { type.version(ofStored: $0.appVersion) }
        ).filter { !type.versions.isRetired($0) }
        // Tally does not know who listens to a channel, so it can leave nobody out.
        if activity.delivery.usesChannel { required.formUnion(type.versions.current) }
        return required
    }

    // MARK: Those who are not there any more

    /// App versions for whose sake alone content would be refused; it is worth asking whether anybody uses them still.
    func obstacles(to content: JudgedContent, of activity: ActivityFacts) -> [Follower] {
        (followers[activity.key] ?? []).filter { follower in
            let version = content.type.version(ofStored: follower.appVersion)
            guard !follower.isWithheld, !content.type.versions.isRetired(version) else { return false }
            // Only refusals are thrown, and which one does not matter here.
            return (try? content.settled(for: [version])) == nil
        }.map { Follower(activityKey: activity.key, appVersion: $0.appVersion) }
    }

    /// Nobody uses this version of the app any more. Should a card of it be on the way at this moment, what is accepted
    /// now is withheld from it.
    mutating func forget(_ follower: Follower) {
        change(follower.activityKey, follower.appVersion, isWithheld: true, at: 1)
    }

    // MARK: What an accepted state changes

    /// A state was accepted: from whom it is withheld, and to whom states go again.
    mutating func accepted(
        _ content: JudgedContent.Settled,
        by type: TypeContext,
        of activityKey: Int64,
        as revision: Revision
    ) {
        acceptedKeys.insert(activityKey)
        for follower in followers[activityKey] ?? [] {
            let version = type.version(ofStored: follower.appVersion)
            let isWithheld = !content.decodedBy.contains(version)
            guard isWithheld != follower.isWithheld else { continue }
            change(activityKey, follower.appVersion, isWithheld: isWithheld, at: revision)
            if isWithheld {
                events.append(
                    .incompatibleVersion(follower.appVersion, version, activityKey: activityKey, revision: revision)
                )
            }
        }
    }

    /// The activity was ended. From whom states are withheld, the end is not: a worker has to look at their cards.
    mutating func ended(_ activityKey: Int64, as revision: Revision) {
        acceptedKeys.insert(activityKey)
        for follower in followers[activityKey] ?? [] where follower.isWithheld {
            change(activityKey, follower.appVersion, isWithheld: true, at: revision)
        }
    }

    private mutating func change(_ key: Int64, _ appVersion: String, isWithheld: Bool, at revision: Revision) {
        guard let index = followers[key]?.firstIndex(where: { $0.appVersion == appVersion }) else { return }
        followers[key]?[index].isWithheld = isWithheld
        followers[key]?[index].changedAt = revision
    }

    /// Activities some of whose cards a worker has to look at, because states go to them no more, or go again.
    var changedKeys: Set<Int64> {
        Set(followers.filter { $0.value.contains { $0.changedAt != nil } }.keys)
    }

    var statements: [Query] {
        let changed = followers.filter { acceptedKeys.contains($0.key) }.sorted { $0.key < $1.key }.flatMap {
            key,
            followers in
            followers.compactMap { follower in
                follower.changedAt.map {
                    AppVersionRows.New(
                        activityKey: key,
                        appVersion: follower.appVersion,
                        isWithheld: follower.isWithheld,
                        revision: $0
                    )
                }
            }
        }
        guard !changed.isEmpty else { return [] }
        return [AppVersionRows.change(changed)] + (events.isEmpty ? [] : [EventRows.insertion(events)])
    }
}
