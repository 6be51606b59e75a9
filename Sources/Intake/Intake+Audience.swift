package import APITypes
package import ActivityModel
import DeliveryStore
import JSON
import Postgres
import Registry
package import Store

extension Intake {
    /// Adds to and removes from the audience of an activity. Cards that were started stay. A start that has not left
    /// yet does not leave after its device is removed.
    ///
    /// Starts that leave from now on tell the request's alert. Without one they tell what they told before: the alert of
    /// the start, of an earlier addition, or of the policy.
    ///
    /// The same request again changes only what others have changed since. With an idempotency key it changes nothing.
    ///
    /// A long list is written in parts, each in its own transaction: changes that meet one wait for the activity. The
    /// first part refuses the whole request. The key is stored with the last part, so a repeat of a request that broke
    /// off carries out the rest.
    ///
    /// - Throws: 404; 409 `activity_ended`; 422 `alert_required` if somebody is added and there is no alert;
    ///   `payload_too_large` if the newest state and the alert do not fit into a start.
    package func changeAudience(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: AudienceRequest,
        idempotency: IdempotencyKey? = nil
    ) async throws -> Replayable<AudienceCounts> {
        let facts = try await facts(app, id)
        var fallback: AlertContent?
        if request.add != nil { fallback = try await registry.typeContext(app, facts.typeName).policy.startAlert }
        let parts = request.parts(of: settings.stretchSize)
        var written: Replayable<CountedAnswer<AudienceCounts>>?
        for (place, part) in parts.enumerated() where written == nil {
            let change = AudienceChange(app: app, facts: facts, request: part, policyAlert: fallback)
            written = try await write(change, isLast: place == parts.count - 1, for: idempotency)
        }
        wakeUps.signal()
        // The last part has an answer.
        guard let written else { throw Problem.internalError() }
        return Replayable(try await written.answer.counted(in: database), isReplay: written.isReplay)
    }

    /// Writes one part of a request.
    ///
    /// - Returns: The answer to the request, with its last part or if it was carried out before.
    private func write(
        _ change: AudienceChange,
        isLast: Bool,
        for key: IdempotencyKey?
    ) async throws -> Replayable<CountedAnswer<AudienceCounts>>? {
        try await keepingAnswer {
            // A report settles starts in an order of its own.
            try await database.withYieldingTransaction { connection in
                if let key {
                    let kept = try await KeptAnswers<AudienceCounts>.read([key], on: connection)
                    if let known = try kept.known(key) {
                        return Replayable(CountedAnswer(known, for: key), isReplay: true)
                    }
                }
                try await change.carryOut(on: connection)
                guard isLast else { return nil }
                let uncounted = AudienceCounts()
                let answer = try await CountedAnswer.keeping(uncounted, of: change.facts.key, for: key, on: connection)
                return Replayable(answer, isReplay: false)
            }
        }
    }
}

extension AudienceRequest {
    /// The request in parts that name at most `size` users or devices each. The first one adds everybody and all topics,
    /// and has the alert.
    fileprivate func parts(of size: Int) -> [AudienceRequest] {
        if [add, remove].allSatisfy({ $0.map { $0.users.count + $0.devices.count <= size } ?? true }) { return [self] }
        var removed = remove
        if let add {
            // As in one part, the addition wins.
            let (users, devices) = (Set(add.users), Set(add.devices))
            removed?.users.removeAll { users.contains($0) }
            removed?.devices.removeAll { devices.contains($0) }
            if add.allOfType { removed?.allOfType = false }
            removed?.topics.removeAll { Set(add.topics).contains($0) }
        }
        var parts = (add?.parts(of: size) ?? []).map { AudienceRequest(add: $0) }
        if add != nil { parts[0].alert = alert }
        return parts + (removed?.parts(of: size) ?? []).map { AudienceRequest(remove: $0) }
    }
}

extension Audience {
    /// At least one.
    fileprivate func parts(of size: Int) -> [Audience] {
        func slices<ID>(_ ids: [ID]) -> [[ID]] {
            stride(from: 0, to: ids.count, by: size).map { Array(ids[$0..<min($0 + size, ids.count)]) }
        }
        var parts = slices(users).map { Audience(users: $0) } + slices(devices).map { Audience(devices: $0) }
        if parts.isEmpty { parts = [Audience()] }
        parts[0].allOfType = allOfType
        (parts[0].topics, parts[0].topicsAll, parts[0].exceptTopics) = (topics, topicsAll, exceptTopics)
        return parts
    }
}

/// One change of an audience, as it is written.
struct AudienceChange: Sendable {
    let app: BundleID
    let facts: ActivityFacts
    let request: AudienceRequest
    /// The alert of starts if neither the start nor an addition brought one.
    let policyAlert: AlertContent?

    private var added: Audience? { request.add.flatMap { $0.isEmpty ? nil : $0 } }
    private var removed: Audience? { request.remove.flatMap { $0.isEmpty ? nil : $0 } }

    /// Other changes of the activity wait from now on until the transaction is over.
    func lock(on connection: PostgresConnection) async throws {
        _ = try await connection.query(ActivityRows.hold(facts.key))
    }

    func carryOut(on connection: PostgresConnection) async throws {
        let rows = try await connection.query(AudienceStanding.hold(facts.key))
        guard let standing = try rows.first.map({ try AudienceStanding($0) }) else {
            throw Problem.notFound("the activity")
        }
        if standing.state == .ended { throw Problem.activityEnded() }
        var statements: [Query] = []
        let stands = standing.startAlert ?? facts.startAlert
        if let alert = request.alert ?? (added == nil || stands != nil ? nil : policyAlert) {
            try await checkSize(with: alert, on: connection)
            statements.append(ActivityRows.setStartAlert(alert.json.text, activityKey: facts.key))
        } else if added != nil, stands == nil {
            throw Problem.alertRequired()
        }
        if let removed {
            statements += AudienceRows.deletion(removed, activityKey: facts.key)
            if removed.allOfType {
                statements.append(ActivityRows.withdrawAll(activityKey: facts.key))
            }
        }
        if let added {
            statements += AudienceRows.insertion([.init(activityKey: facts.key, app: app, audience: added)])
            statements.append(ActivityRows.enrol(withAll: added.allOfType, activityKey: facts.key))
        }
        if let removed {
            statements.append(AudienceRows.recall(removed, activityKey: facts.key))
        }
        statements.append(SegmentRows.wake(activityKeys: [facts.key], segments: .rings))
        _ = try await connection.pipeline(statements)
        if added?.topics.isEmpty == false { try await checkTopicCount(on: connection) }
    }

    /// A claim of a start looks at all topics of the audience.
    private func checkTopicCount(on connection: PostgresConnection) async throws {
        let rows = try await connection.query(AudienceRows.topicCount(activityKey: facts.key))
        guard let count = try rows.single(Int64.self), count > Topic.maximumCount else { return }
        throw Problem.invalidRequest(
            pointer: JSONPointer(tokens: ["add", "topics"]),
            code: FieldError.outOfRange,
            message: "An audience has at most \(Topic.maximumCount) topics; this one would have \(count)."
        )
    }

    /// A start carries the newest state, which was measured without this alert. Later states are measured with it.
    private func checkSize(with alert: AlertContent, on connection: PostgresConnection) async throws {
        // A statement of its own, whose snapshot is younger than the lock.
        let rows = try await connection.query(NewestState.selection(facts.key))
        guard let newest = try rows.first.map({ try NewestState($0) }) else { return }
        var combination = BodySizes.Combination(
            type: facts.typeName,
            attributes: facts.attributes,
            delivery: facts.delivery
        )
        combination.startAlert = alert
        combination.hints = newest.hints
        try BodySizes.check(newest.content, in: combination)
    }
}
