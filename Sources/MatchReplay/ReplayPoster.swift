package import APITypes
package import ActivityModel
import JSON
package import TallyClient

/// Turns recorded posts into API calls.
package struct ReplayPoster: Sendable {
    let client: TallyClient
    let app: BundleID
    let file: ReplayFile

    package init(client: TallyClient, app: BundleID, file: ReplayFile) {
        (self.client, self.app, self.file) = (client, app, file)
    }

    /// Posts to one activity. While the server is unavailable, its client retries with the same idempotency key.
    ///
    /// - Throws: ``RefusedPost`` if the server refuses it.
    package func post(_ post: ReplayPost, _ activity: ReplayActivity) async throws -> ReplayPlayer.Acceptance {
        do {
            return try await send(post, activity)
        } catch let error as ClientError {
            guard let problem = error.problem else { throw error }
            throw RefusedPost(activityID: activity.activityID, problem: problem, isUnknown: error.isUnknown)
        }
    }

    private func send(_ post: ReplayPost, _ activity: ReplayActivity) async throws -> ReplayPlayer.Acceptance {
        switch post.kind {
        case .start:
            let answer = try await client.start(app, activity.activityID, start(post, activity)).answer
            return .init(revision: answer.revision, timestamp: answer.timestamp)
        case .update:
            let answer = try await client.update(app, activity.activityID, update(post))
            return try acceptance(answer)
        case .end:
            let answer = try await client.end(app, activity.activityID, end(post))
            return try acceptance(answer)
        }
    }

    private func start(_ post: ReplayPost, _ activity: ReplayActivity) -> StartRequest {
        StartRequest(
            type: file.type,
            attributes: file.attributes,
            contentState: post.contentState ?? [:],
            environment: file.environment,
            audience: activity.audience,
            delivery: activity.delivery,
            alert: post.alert,
            urgency: post.urgency
        )
    }

    private func update(_ post: ReplayPost) -> UpdateRequest {
        UpdateRequest(
            contentState: post.contentState ?? [:],
            alert: post.alert,
            urgency: post.urgency,
            mustDeliver: post.mustDeliver
        )
    }

    private func end(_ post: ReplayPost) -> EndRequest {
        EndRequest(
            contentState: post.contentState,
            dismissal: post.dismissAfterSeconds.map { .after(seconds: $0) },
            alert: post.alert
        )
    }

    private func acceptance(_ answer: ChangeAnswer) throws -> ReplayPlayer.Acceptance {
        switch answer {
        case .accepted(_, let revision, let timestamp, _): return .init(revision: revision, timestamp: timestamp)
        case .scheduled: throw ReplayError("The server scheduled a post that named no time.")
        }
    }
}

/// The server's refusal of one activity's post.
package struct RefusedPost: Error {
    package let activityID: ActivityID
    package let problem: Problem
    /// Whether the post may have taken effect.
    package let isUnknown: Bool

    /// The problem with the activity in its text.
    package var named: Problem {
        var named = problem
        named.detail = "\(activityID): \(problem.detail)"
        return named
    }

    /// Whether an earlier activity has this id, such as that of an earlier replay.
    package var isIDUsedUp: Bool {
        ["activity_ended", "activity_exists", "attributes_conflict"].contains(problem.code)
    }
}
