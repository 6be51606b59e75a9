import Foundation
import TallyClient

/// A message of the feed of fixtures.
struct Fixture: Decodable, Sendable {
    var homeTeam: String
    var awayTeam: String
    var competition: String?
}

/// A message of the feed of results.
struct Goal: Decodable, Sendable {
    /// The feed's own id of the message. It may send the message again.
    var messageID: String
    /// When the goal was scored.
    var time: Date
    var scorer: String
    var state: MatchBackend.GameAttributes.ContentState
}

/// What the app's TallyKit asks for.
struct TicketCall: Decodable, Sendable {
    var deviceID: String
    var environment: String
    var activities: [String]?
    var signedOut: Bool
    var topics: [String]?

    private enum CodingKeys: String, CodingKey {
        case environment, activities, topics
        case deviceID = "device_id"
        case signedOut = "signed_out"
    }
}

/// The answer to a request of the feed or the app.
struct Answer: Sendable {
    var status: Int
    var text = ""
}

/// Keeps the cards of matches up to date, and gives tickets to the app. Each function answers one route.
struct MatchBackend: Sendable {
    /// The struct of the app, without ActivityKit.
    struct GameAttributes: Codable, Hashable, Sendable {
        struct ContentState: Codable, Hashable, Sendable {
            var homeScore: Int
            var awayScore: Int
            /// Minute of play, 0 to 120.
            var minute: Int
            /// For example `firstHalf`, `halfTime`, `extraTimeFirst`, `penalties`, `ended`.
            var period: String
            /// For example `GOAL Messi 23' (pen.)`.
            var lastEvent: String?
            var homePenalties: Int?
            var awayPenalties: Int?
        }

        var homeTeam: String
        var awayTeam: String
        var competition: String?
        /// The id of the activity. Tally fills it (`id_attribute` in the policy), so the app knows which match a card is of.
        var activityId: String
    }

    let tally: TallyBackend
    /// Your rule: may this user see this activity? For public matches it is always true, for orders it is not.
    let maySee: @Sendable (_ user: String, _ activity: String) async throws -> Bool

    func kickOff(_ fixture: Fixture, match id: String) async throws -> Answer {
        let match = GameAttributes(
            homeTeam: fixture.homeTeam,
            awayTeam: fixture.awayTeam,
            competition: fixture.competition,
            activityId: id
        )
        var options = StartOptions()
        options.everyDevice = true
        options.delivery = .hybrid
        options.alert = ChangeAlert(title: "\(match.homeTeam) – \(match.awayTeam)", body: "Kick-off")
        let state = GameAttributes.ContentState(homeScore: 0, awayScore: 0, minute: 0, period: "firstHalf")
        return try await answer {
            try await tally.start(
                id,
                type: "GameAttributes",
                attributes: match,
                contentState: state,
                options: options
            )
            return Answer(status: 202)
        }
    }

    func goal(_ goal: Goal, match id: String) async throws -> Answer {
        var options = UpdateOptions()
        // A retry of this goal that arrives after the next one is refused, and brings no old score back.
        options.eventTime = goal.time
        options.alert = ChangeAlert(title: "Goal!", body: goal.scorer, sound: "default")
        return try await answer {
            // The feed may repeat a message. With its id as key, Tally takes it once.
            try await tally.update(
                id,
                contentState: goal.state,
                options: options,
                idempotencyKey: goal.messageID
            )
            return Answer(status: 202)
        }
    }

    func fullTime(match id: String) async throws -> Answer {
        var options = EndOptions()
        options.dismissAfterSeconds = 3_600
        return try await answer {
            try await tally.end(id, options: options)
            return Answer(status: 202)
        }
    }

    // Below, `user` is the signed-in user: put your own authentication before these three.

    /// Starts the match on the user's phones, also on those that register later.
    func follow(match id: String, user: String) async throws -> Answer {
        try await answer {
            try await tally.changeAudience(of: id, adding: ActivityAudience(users: [user]))
            return Answer(status: 202)
        }
    }

    /// The ticket that the app gets at launch and reports with.
    func ticket(_ call: TicketCall, user: String) async throws -> Answer {
        try await answer {
            let ticket = try await tally.ticket(
                forDevice: call.deviceID,
                user: call.signedOut ? nil : user,
                activities: try await visible(call.activities, to: user),
                topics: (call.topics ?? []).filter { $0.hasPrefix("team:") },
                isSandbox: call.environment == "sandbox"
            )
            return Answer(status: 200, text: String(decoding: try JSONEncoder().encode(ticket), as: UTF8.self))
        }
    }

    /// The activities that the user may see. A phone gets the state of every activity in its ticket, and a modified app may
    /// ask for the activities of other users.
    func visible(_ activities: [String]?, to user: String) async throws -> [String]? {
        guard let activities else { return nil }
        var visible: [String] = []
        for activity in activities where try await maySee(user, activity) { visible.append(activity) }
        return visible
    }

    /// Erases the user in Tally when the account is deleted here.
    func leave(user: String) async throws -> Answer {
        try await answer {
            try await tally.eraseUser(user)
            return Answer(status: 204)
        }
    }

    /// Passes Tally's answer on. 202 means that the change is stored.
    private func answer(_ call: () async throws -> Answer) async throws -> Answer {
        do {
            return try await call()
        } catch let error as TallyError {
            // After 503 the feed sends the message again. After another answer it may drop it.
            let comesLater = error.isUnknown || error.isRetryable
            return Answer(status: comesLater ? 503 : 409, text: error.description)
        }
    }
}
