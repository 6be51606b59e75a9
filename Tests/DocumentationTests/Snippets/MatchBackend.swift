import Hummingbird
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
    var scorer: String
    var state: MatchController.GameAttributes.ContentState
}

/// Keeps the cards of matches up to date, and gives tickets to the app.
struct MatchController: Sendable {
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

    func addRoutes(to router: Router<some RequestContext>) {
        router.post("matches/:id/kick-off", use: kickOff)
        router.post("matches/:id/goals", use: goal)
        router.post("matches/:id/full-time", use: fullTime)
        router.put("users/:user/matches/:id", use: follow)
        router.post("users/:user/devices/:device/ticket", use: ticket)
        router.delete("users/:user", use: leave)
    }

    @Sendable func kickOff(_ request: Request, context: some RequestContext) async throws -> HTTPResponse.Status {
        let fixture = try await request.decode(as: Fixture.self, context: context)
        let id = try context.parameters.require("id")
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
            return .accepted
        }
    }

    @Sendable func goal(_ request: Request, context: some RequestContext) async throws -> HTTPResponse.Status {
        let goal = try await request.decode(as: Goal.self, context: context)
        var options = UpdateOptions()
        options.urgency = .notable
        options.alert = ChangeAlert(title: "Goal!", body: goal.scorer, sound: "default")
        return try await answer {
            try await tally.update(
                try context.parameters.require("id"),
                contentState: goal.state,
                options: options,
                // The feed may repeat a message. With its id as key, Tally takes it once.
                idempotencyKey: goal.messageID
            )
            return .accepted
        }
    }

    @Sendable func fullTime(_ request: Request, context: some RequestContext) async throws -> HTTPResponse.Status {
        var options = EndOptions()
        options.dismissAfterSeconds = 3_600
        return try await answer {
            try await tally.end(try context.parameters.require("id"), options: options)
            return .accepted
        }
    }

    // Below, `user` is the signed-in user: put your own authentication before these three.

    /// Starts the match on the user's phones, also on those that register later.
    @Sendable func follow(_ request: Request, context: some RequestContext) async throws -> HTTPResponse.Status {
        let user = try context.parameters.require("user")
        return try await answer {
            try await tally.changeAudience(
                of: try context.parameters.require("id"),
                adding: ActivityAudience(users: [user])
            )
            return .accepted
        }
    }

    /// The ticket that the app gets at launch and reports with.
    @Sendable func ticket(_ request: Request, context: some RequestContext) async throws -> String {
        try await answer {
            try await tally.ticket(
                forDevice: try context.parameters.require("device"),
                user: try context.parameters.require("user")
            ).text
        }
    }

    /// Erases the user in Tally when the account is deleted here.
    @Sendable func leave(_ request: Request, context: some RequestContext) async throws -> HTTPResponse.Status {
        try await answer {
            try await tally.eraseUser(try context.parameters.require("user"))
            return .noContent
        }
    }

    /// Passes Tally's answer on. 202 means that the change is stored.
    private func answer<Answer>(_ call: () async throws -> Answer) async throws -> Answer {
        do {
            return try await call()
        } catch let error as TallyError {
            // After 503 the feed sends the message again. After another answer it may drop it.
            let comesLater = error.isUnknown || error.isRetryable
            throw HTTPError(comesLater ? .serviceUnavailable : .conflict, message: error.description)
        }
    }
}
