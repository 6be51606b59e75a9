import ActivityKit
import Foundation

struct GameAttributes: ActivityAttributes, Sendable {
    struct ContentState: Codable, Hashable, Sendable {
        var homeScore: Int
        var awayScore: Int
        var minute: Int
    }

    var homeTeam: String
    var awayTeam: String
    /// The backend's id of the match; Tally fills it (`id_attribute` in the policy).
    var activityId: String
}

/// Tells Tally what this installation has: start tokens, cards, update tokens. Start `run()` when the app is launched, in the
/// background too: after a start by push the system launches the app for just this.
actor LiveActivityReporter {
    struct Settings: Sendable {
        var server: URL
        var bundleID: String
        /// Made once by the app, and kept.
        var deviceID: String
        /// `sandbox` for builds from Xcode, else `production`.
        var environment: String
        var osVersion: String
        var appVersion: String
        /// A fresh registration ticket from your own backend, which knows who is signed in.
        var ticket: @Sendable () async throws -> String
    }

    private let settings: Settings

    init(_ settings: Settings) {
        self.settings = settings
    }

    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.reportStartTokens() }
            group.addTask { await self.reportCards() }
        }
    }

    // MARK: Start tokens: one per type and installation

    private func reportStartTokens() async {
        // The sequence does not always begin with the token that there is already.
        if let token = Activity<GameAttributes>.pushToStartToken { await reportDevice(startToken: token) }
        for await token in Activity<GameAttributes>.pushToStartTokenUpdates { await reportDevice(startToken: token) }
    }

    private func reportDevice(startToken: Data) async {
        let permissions = ActivityAuthorizationInfo()
        let token = DeviceReport.StartToken(token: startToken.hexText, generation: nextGeneration("start-token"))
        await report(
            "devices/\(settings.deviceID)",
            DeviceReport(
                environment: settings.environment,
                osVersion: settings.osVersion,
                appVersion: settings.appVersion,
                activitiesEnabled: permissions.areActivitiesEnabled,
                frequentPushesEnabled: permissions.frequentPushesEnabled,
                startTokens: ["GameAttributes": token]
            )
        )
    }

    // MARK: Cards

    private func reportCards() async {
        await withTaskGroup(of: Void.self) { group in
            for card in Activity<GameAttributes>.activities { group.addTask { await self.follow(card) } }
            for await card in Activity<GameAttributes>.activityUpdates { group.addTask { await self.follow(card) } }
        }
    }

    private func follow(_ card: Activity<GameAttributes>) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                // Tokens change while a card lives; each replaces the one before.
                for await token in card.pushTokenUpdates {
                    await self.reportCard(card, CardReport(updateToken: token.hexText))
                }
            }
            group.addTask {
                for await state in card.activityStateUpdates where state == .ended || state == .dismissed {
                    await self.reportCard(card, CardReport(ended: true))
                }
            }
        }
    }

    /// A card that the app itself has started on the match's channel, with `pushType: .channel(id)`, has no token. It shows the
    /// match as of a revision that the backend named; 0 if it named none.
    func reportChannelCard(_ card: Activity<GameAttributes>, channelID: String, revision: Int) async {
        await reportCard(card, CardReport(channelId: channelID, knownRevision: revision))
    }

    private func reportCard(_ card: Activity<GameAttributes>, _ news: CardReport) async {
        var news = news
        news.generation = nextGeneration(card.id)
        news.activitykitId = card.id
        news.environment = settings.environment
        news.osVersion = settings.osVersion
        news.appVersion = settings.appVersion
        await report("activities/\(card.attributes.activityId)/subscriptions/\(settings.deviceID)", news)
    }

    // MARK: Reporting

    /// Numbers that grow with every report about the same thing, over launches, so that a report that arrives late never
    /// replaces a newer one.
    private func nextGeneration(_ subject: String) -> Int {
        let key = "tally-generation-\(subject)"
        let next = UserDefaults.standard.integer(forKey: key) + 1
        UserDefaults.standard.set(next, forKey: key)
        return next
    }

    /// Sends a report until it is taken or refused; a report is a PUT, which may be repeated.
    private func report(_ path: String, _ body: some Encodable) async {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        var delay = Duration.seconds(1)
        while !Task.isCancelled {
            do {
                var request = URLRequest(
                    url: settings.server.appending(path: "v1/apps/\(settings.bundleID)/\(path)")
                )
                request.httpMethod = "PUT"
                request.httpBody = try encoder.encode(body)
                request.setValue("application/json", forHTTPHeaderField: "Content-Type")
                request.setValue("Bearer \(try await settings.ticket())", forHTTPHeaderField: "Authorization")
                let (_, response) = try await URLSession.shared.data(for: request)
                let status = (response as? HTTPURLResponse)?.statusCode ?? 0
                // 401: the ticket has run out, the next try has a new one. Other refusals stay what they are.
                if status < 500, status != 401, status != 429 { return }
            } catch is CancellationError {
                return
            } catch {
                // No network: later.
            }
            try? await Task.sleep(for: delay)
            delay = min(delay * 2, .seconds(300))
        }
    }
}

extension Data {
    fileprivate var hexText: String { map { String(format: "%02x", $0) }.joined() }
}

/// What `PUT …/devices/{id}` takes.
private struct DeviceReport: Encodable {
    struct StartToken: Encodable {
        var token: String
        var generation: Int
    }

    var environment: String
    var osVersion: String
    var appVersion: String
    var activitiesEnabled: Bool
    var frequentPushesEnabled: Bool
    var startTokens: [String: StartToken]
}

/// What `PUT …/activities/{id}/subscriptions/{device}` takes: one of the first three, and what goes with it.
private struct CardReport: Encodable {
    var updateToken: String?
    var channelId: String?
    var ended: Bool?
    var generation: Int?
    var knownRevision: Int?
    var activitykitId: String?
    var environment: String?
    var osVersion: String?
    var appVersion: String?
}
