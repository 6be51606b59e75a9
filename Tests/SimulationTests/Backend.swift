import APITypes
import ActivityModel
import Intake
import JSON
import Postgres

@testable import Orchestrator
@testable import Store

/// A change as the backend posts it.
struct Post: Sendable, CustomStringConvertible {
    enum Kind: Sendable { case update, end }

    let kind: Kind
    let key: String
    let score: Int64
    let alert: String?
    let mustDeliver: Bool
    let urgency: Urgency?
    /// Whether the newer app decodes its state.
    let hasMinute: Bool
    /// When it is to happen, milliseconds since 1970; nil: now.
    var at: Int64?

    var description: String {
        "\(kind) score \(score)\(hasMinute ? " with a minute" : "")\(mustDeliver ? " that must be delivered" : "")"
    }
}

extension Universe {
    static func state(_ match: String, _ score: Int64, hasMinute: Bool) -> JSONObject {
        var state = JSONObject([("score", .number(JSONNumber(score))), ("match", .string(match))])
        if hasMinute { state["minute"] = .number(JSONNumber(score % 90)) }
        return state
    }

    static func alert(_ title: String) -> AlertContent { AlertContent(title: .plain(title), body: .plain("Look")) }

    func startMatch() async throws {
        let phones = apple.with { $0.phones.map(\.id) }.filter { _ in chance(60) }
        var audience =
            chance(30) ? Audience(allOfType: true) : Audience(devices: phones.map { DeviceID(stored: $0) })
        if hasTopics, chance(60) { audience = topicAudience() }
        try await startMatch(for: audience, by: chance(50) ? .tokens : chance(50) ? .channel : .hybrid)
    }

    /// Some time within the next minute.
    private func later() -> Instant {
        Instant(microseconds: (now + .random(in: 1_000...60_000, using: &random)) * 1_000)
    }

    func startMatch(for audience: Audience, by delivery: Delivery) async throws {
        let id = "match\(number())"
        let score = Int64(number())
        let request = StartRequest(
            type: Self.game,
            attributes: JSONObject([("match", .string(id))]),
            contentState: Self.state(id, score, hasMinute: hasTwoVersions),
            audience: audience,
            delivery: delivery,
            alert: Self.alert("Kick-off of \(id)"),
            startsAt: chance(20) ? later() : nil
        )
        note("start \(id) \(delivery.rawValue) score \(score)")
        matches.append(
            Match(
                id: id,
                delivery: delivery,
                isScheduled: request.startsAt != nil,
                audience: audience.topics.isEmpty ? nil : audience
            )
        )
        beginAbsences(at: 0)
        // PUT is idempotent by its id: it is repeated until it is answered.
        while true {
            do {
                let answer = try await anyDaemon().orchestrator.intake
                    .start(Self.app, ActivityID(stored: id), request, origin: nil).answer
                matches[matches.count - 1].accepted.append(
                    Accepted(
                        revision: answer.revision,
                        score: score,
                        kind: .start,
                        alert: "Kick-off of \(id)",
                        mustDeliver: false,
                        hasMinute: hasTwoVersions,
                        uptime: apple.with { $0.uptime }
                    )
                )
                return
            } catch is PostgresError {
                try await replaceTheDead()
            }
        }
    }

    func post(_ kind: Post.Kind) async throws {
        let open = matches.indices.filter { !matches[$0].hasEnded }
        guard let match = open.randomElement(using: &random) else { return }
        let score = Int64(number())
        let alert = chance(20) ? "Goal \(score)" : nil
        let post = Post(
            kind: kind,
            key: "key\(score)",
            score: score,
            alert: alert,
            mustDeliver: kind == .update && chance(15),
            urgency: chance(50) ? nil : [.routine, .notable, .critical].randomElement(using: &random),
            hasMinute: hasTwoVersions && chance(50),
            at: chance(12) ? now + .random(in: 1_000...60_000, using: &random) : nil
        )
        try await send(Unanswered(match: match, request: post))
    }

    /// Posts what was not answered once more.
    func postAgain() async throws {
        guard !unanswered.isEmpty else { return }
        try await send(unanswered.removeFirst())
    }

    private func send(_ unanswered: Unanswered) async throws {
        let daemon = anyDaemon()
        let post = unanswered.request
        let match = matches[unanswered.match]
        do {
            let answer = try await send(post, to: match.id, through: daemon)
            guard case .accepted(_, let revision, _, _) = answer else {
                note("scheduled \(match.id) \(post) by \(daemon.name)")
                matches[unanswered.match].scheduled.append(post)
                return
            }
            note("accepted \(match.id) revision \(revision) \(post) by \(daemon.name)")
            matches[unanswered.match].accepted.append(
                Accepted(
                    revision: revision,
                    score: post.score,
                    kind: post.kind == .end ? .end : .update,
                    alert: post.alert,
                    mustDeliver: post.mustDeliver,
                    hasMinute: post.hasMinute,
                    uptime: apple.with { $0.uptime }
                )
            )
        } catch is PostgresError {
            note("no answer for \(match.id) score \(post.score) by \(daemon.name)")
            self.unanswered.append(unanswered)
            try await replaceTheDead()
        } catch let problem as Problem {
            // An end that got lost on its way, and comes after another; too many barriers; or a state that an app which
            // follows could not decode.
            note("refused \(match.id) \(post): \(problem.code)")
        }
    }

    private func send(_ post: Post, to match: String, through daemon: Daemon) async throws -> ChangeAnswer {
        let id = ActivityID(stored: match)
        let state = Self.state(match, post.score, hasMinute: post.hasMinute)
        let key = IdempotencyKey(
            apiKeyID: "backend",
            app: Self.app,
            method: "POST",
            path: "/\(match)/\(post.kind)",
            key: post.key,
            bodyHash: Array(post.key.utf8)
        )
        switch post.kind {
        case .update:
            return try await daemon.orchestrator.intake.update(
                Self.app,
                id,
                UpdateRequest(
                    contentState: state,
                    alert: post.alert.map(Self.alert),
                    urgency: post.urgency,
                    mustDeliver: post.mustDeliver,
                    at: post.at.map { Instant(microseconds: $0 * 1_000) }
                ),
                idempotency: key,
                origin: nil
            ).answer
        case .end:
            return try await daemon.orchestrator.intake.end(
                Self.app,
                id,
                EndRequest(
                    contentState: state,
                    alert: post.alert.map(Self.alert),
                    at: post.at.map { Instant(microseconds: $0 * 1_000) }
                ),
                idempotency: key,
                origin: nil
            ).answer
        }
    }
}
