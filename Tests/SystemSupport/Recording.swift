package import APITypes
package import ActivityModel
package import JSON
package import TallyClient
import TestSupport

/// The World Cup final of the samples, posted from here instead of by `tally replay`, where a test has to do something
/// between two posts.
package struct Recording: Sendable {
    package struct Post: Sendable {
        package let kind: ChangeKind
        package let contentState: JSONObject?
        package let alert: AlertContent?
        package let urgency: Urgency?
    }

    package let attributes: JSONObject
    package let posts: [Post]

    package init() throws {
        let file = try Samples.json("world-cup-final-2022.json")
        attributes = file["attributes"]?.object ?? JSONObject()
        posts = try (file["posts"]?.array ?? []).map { post in
            Post(
                kind: knownGood(post["kind"]?.string.flatMap(ChangeKind.init)),
                contentState: post["content_state"]?.object,
                alert: try post["alert"].map { try AlertContent(json: $0) },
                urgency: post["urgency"]?.string.flatMap(Urgency.init)
            )
        }
    }
}

/// One activity that the recording is posted to.
package struct FollowedActivity: Sendable {
    package let id: ActivityID
    package let delivery: Delivery
    /// Devices by their ids.
    package let audience: [String]

    package init(id: ActivityID, delivery: Delivery, audience: [String]) {
        self.id = id
        self.delivery = delivery
        self.audience = audience
    }

    /// Posts once, going on until Tally has answered.
    package func post(
        _ post: Recording.Post,
        of recording: Recording,
        by client: TallyClient
    ) async throws -> PostedChange {
        let postedAt = Clock.milliseconds
        let revision: Revision
        switch post.kind {
        case .start:
            let request = StartRequest(
                type: TallySystem.type,
                attributes: recording.attributes,
                contentState: post.contentState ?? [:],
                audience: Audience(devices: audience.map { knownGood(DeviceID($0)) }),
                delivery: delivery,
                alert: post.alert
            )
            revision = try await client.start(TallySystem.app, id, request).answer.revision
        case .update:
            let request = UpdateRequest(
                contentState: post.contentState ?? [:],
                alert: post.alert,
                urgency: post.urgency
            )
            revision = try await client.update(TallySystem.app, id, request).acceptedRevision
        case .end:
            let request = EndRequest(contentState: post.contentState, alert: post.alert)
            revision = try await client.end(TallySystem.app, id, request).acceptedRevision
        }
        return PostedChange(
            activityID: id,
            kind: post.kind,
            revision: revision,
            postedAt: postedAt,
            contentState: post.contentState
        )
    }
}

extension ChangeAnswer {
    /// The revision of a change that was accepted at once.
    package var acceptedRevision: Revision {
        get throws {
            guard case .accepted(_, let revision, _, _) = self else { throw Failure("scheduled instead of accepted") }
            return revision
        }
    }
}
