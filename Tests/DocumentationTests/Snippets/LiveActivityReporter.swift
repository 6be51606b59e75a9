import ActivityKit
import Foundation
import UIKit

struct GameAttributes: ActivityAttributes, Sendable {
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

/// The app's delegate (in SwiftUI with `@UIApplicationDelegateAdaptor`). It reports the token of ordinary pushes, and lets Tally
/// wake the app. For that, `Info.plist` has `remote-notification` among the `UIBackgroundModes`.
final class AppDelegate: NSObject, UIApplicationDelegate {
    /// Set it in the `init()` of the `App`, which runs first.
    @MainActor static var reporter: LiveActivityReporter?

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        // This asks the user for nothing. Only alerts need permission.
        application.registerForRemoteNotifications()
        Task { await Self.reporter?.run() }
        return true
    }

    func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data) {
        Task { await Self.reporter?.reportDevice(deviceToken: token) }
    }

    func application(
        _ application: UIApplication,
        didReceiveRemoteNotification content: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult {
        await Self.reporter?.reportTokens()
        return .newData
    }
}

/// Reports start tokens, cards and update tokens to Tally. Call `run()` at every launch, also in the background: after a start by
/// push, iOS launches the app for just this.
actor LiveActivityReporter {
    struct Settings: Sendable {
        var server: URL
        var bundleID: String
        /// Make it once and keep it in the Keychain, so that it survives a reinstall.
        var deviceID: String
        /// `sandbox` for builds from Xcode, `production` for all others.
        var environment: String
        var osVersion: String
        var appVersion: String
        /// Gets a fresh ticket from your backend, which knows who is signed in.
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

    // MARK: The device and its start tokens

    private func reportStartTokens() async {
        // The sequence does not always begin with the current token.
        if let token = Activity<GameAttributes>.pushToStartToken { await reportDevice(startToken: token) }
        for await token in Activity<GameAttributes>.pushToStartTokenUpdates { await reportDevice(startToken: token) }
    }

    /// Values that the report leaves out stay as they are. Call it without a token when somebody signs in or out: the new
    /// ticket names the user.
    func reportDevice(startToken: Data? = nil, deviceToken: Data? = nil) async {
        let permissions = ActivityAuthorizationInfo()
        let token = startToken.map {
            DeviceReport.StartToken(token: $0.hexText, generation: nextGeneration("start-token"))
        }
        await report(
            "devices/\(settings.deviceID)",
            DeviceReport(
                environment: settings.environment,
                osVersion: settings.osVersion,
                appVersion: settings.appVersion,
                activitiesEnabled: permissions.areActivitiesEnabled,
                frequentPushesEnabled: permissions.frequentPushesEnabled,
                deviceToken: deviceToken?.hexText,
                startTokens: token.map { ["GameAttributes": $0] },
                installation: installation
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
                // A card's token may change.
                for await token in card.pushTokenUpdates { await self.reportToken(token, of: card) }
            }
            group.addTask {
                for await state in card.activityStateUpdates where state.isOver {
                    await self.reportCard(card, CardReport(ended: true))
                    // If this was one of two cards, Tally must now serve the other one.
                    await self.reportTokens(of: card.attributes.activityId)
                }
            }
        }
    }

    /// Reports the tokens of all cards again, or of one match.
    func reportTokens(of activityID: String? = nil) async {
        for card in Activity<GameAttributes>.activities where [nil, card.attributes.activityId].contains(activityID) {
            if let token = card.pushToken { await reportToken(token, of: card) }
        }
    }

    /// An ended card stays on the screen for a while and may still get tokens. By then the match may have another card.
    private func reportToken(_ token: Data, of card: Activity<GameAttributes>) async {
        guard !card.activityState.isOver else { return }
        await reportCard(card, CardReport(updateToken: token.hexText))
    }

    /// Reports a card that the app started with `pushType: .channel(id)`. `revision` is that of the state which the card shows,
    /// as your backend got it from Tally; 0 if unknown.
    func reportChannelCard(_ card: Activity<GameAttributes>, channelID: String, revision: Int) async {
        await reportCard(card, CardReport(channelId: channelID, knownRevision: revision))
    }

    private func reportCard(_ card: Activity<GameAttributes>, _ news: CardReport) async {
        var news = news
        // One count for all cards of a match.
        news.generation = nextGeneration("card-\(card.attributes.activityId)")
        news.activitykitId = card.id
        news.environment = settings.environment
        news.osVersion = settings.osVersion
        news.appVersion = settings.appVersion
        news.installation = installation
        await report("activities/\(card.attributes.activityId)/subscriptions/\(settings.deviceID)", news)
    }

    // MARK: Reporting

    /// Tells this installation from an earlier one. It is stored beside the generations, so a reinstall starts both again.
    private let installation: String = {
        let key = "tally-installation"
        if let known = UserDefaults.standard.string(forKey: key) { return known }
        let new = UUID().uuidString
        UserDefaults.standard.set(new, forKey: key)
        return new
    }()

    /// A number that grows with every report about the same match or start token, across launches. A late report never
    /// replaces a newer one.
    private func nextGeneration(_ subject: String) -> Int {
        let key = "tally-generation-\(subject)"
        let next = UserDefaults.standard.integer(forKey: key) + 1
        UserDefaults.standard.set(next, forKey: key)
        return next
    }

    /// Sends a report until Tally takes or refuses it. A report is a PUT, so it may be repeated.
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
                let (answer, response) = try await URLSession.shared.data(for: request)
                let status = (response as? HTTPURLResponse)?.statusCode ?? 0
                // 401: the ticket has expired, and the next try gets a new one. Other refusals are final.
                if status < 500, status != 401, status != 429 {
                    let receipt = try? JSONDecoder().decode(Receipt.self, from: answer)
                    // A refused report leaves the card as it is, so log it.
                    if receipt?.accepted != true {
                        print("Tally has not taken \(path): \(status) \(String(decoding: answer, as: UTF8.self))")
                    }
                    return
                }
            } catch is CancellationError {
                return
            } catch {
                // No network: try later.
            }
            try? await Task.sleep(for: delay)
            delay = min(delay * 2, .seconds(300))
        }
    }
}

extension ActivityState {
    fileprivate var isOver: Bool { self == .ended || self == .dismissed }
}

extension Data {
    fileprivate var hexText: String { map { String(format: "%02x", $0) }.joined() }
}

/// The body of `PUT …/devices/{id}`, without its nil values.
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
    var deviceToken: String?
    var startTokens: [String: StartToken]?
    var installation: String
}

/// The body of `PUT …/activities/{id}/subscriptions/{device}`: one of the first three, with the rest.
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
    var installation: String?
}

/// Tally's answer to a report. `reason` says why it was not taken, such as `stale_generation`.
private struct Receipt: Decodable {
    var accepted: Bool
    var reason: String?
}
