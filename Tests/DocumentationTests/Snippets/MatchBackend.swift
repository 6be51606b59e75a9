import Hummingbird
import TallyClient

/// What the feed of fixtures posts.
struct Fixture: Decodable, Sendable {
    var homeTeam: String
    var awayTeam: String
    var competition: String?
}

/// What the feed of results posts.
struct Goal: Decodable, Sendable {
    /// The feed's own id of the message, which it may send again.
    var messageID: String
    var scorer: String
    var state: MatchController.GameAttributes.ContentState
}

/// A part of a Hummingbird backend that keeps the cards of a match up to date, and lets the app report them.
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
                // The feed repeats what we do not answer; with its own key, Tally takes it once.
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

    // Below, `user` is who is signed in: your own authentication has to stand before these three.

    /// The match appears on the user's phones, the one that is registered later as well.
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

    /// What the app asks for at launch, and reports to Tally with.
    @Sendable func ticket(_ request: Request, context: some RequestContext) async throws -> String {
        try await answer {
            try await tally.ticket(
                forDevice: try context.parameters.require("device"),
                user: try context.parameters.require("user")
            ).text
        }
    }

    /// The user's account is deleted here, and so it is in Tally.
    @Sendable func leave(_ request: Request, context: some RequestContext) async throws -> HTTPResponse.Status {
        try await answer {
            try await tally.eraseUser(try context.parameters.require("user"))
            return .noContent
        }
    }

    /// Tally's word is passed on: 202 means that the change is stored, and that Tally sends it or a newer one to every phone
    /// that follows.
    private func answer<Answer>(_ call: () async throws -> Answer) async throws -> Answer {
        do {
            return try await call()
        } catch let error as TallyError {
            // Whoever is answered 503 comes again with the same message; after another answer it may be dropped.
            let comesLater = error.isUnknown || error.isRetryable
            throw HTTPError(comesLater ? .serviceUnavailable : .conflict, message: error.description)
        }
    }
}
