#if canImport(ActivityKit) && canImport(UIKit)
public import ActivityKit
import Foundation
import UIKit

/// Keeps Tally informed of this phone: its start tokens, its cards, who is signed in.
///
/// Make one at launch, in the `init()` of your `App` or in `didFinishLaunching`, and keep it. Call ``follow(_:)`` for each type
/// of card at once: after a start by push, iOS launches the app in the background for just this.
@MainActor
public final class Tally {
    private let driver: Driver
    private let link: Wiring
    private var observers: [any NSObjectProtocol] = []

    /// - Parameters:
    ///   - server: The address of Tally, best that of its listener for phones.
    ///   - app: The bundle id of the app.
    ///   - environment: `sandbox` or `production`. Nil: what the build's profile says.
    ///   - ticket: Gets a registration ticket from your backend, for the user who is signed in. After a sign-out it names no
    ///     user.
    public convenience init(
        server: URL,
        app: String,
        environment: String? = nil,
        ticket: @escaping @Sendable (TicketRequest) async throws -> Ticket
    ) {
        self.init(server: server, app: app, environment: environment, folder: Self.folder, ticket: ticket)
    }

    /// As the public one, with the folder for all that TallyKit keeps. `adjust` changes the settings of connections, for tests.
    package init(
        server: URL,
        app: String,
        environment: String? = nil,
        folder: URL,
        adjust: (URLSessionConfiguration) -> Void = { _ in },
        ticket: @escaping @Sendable (TicketRequest) async throws -> Ticket
    ) {
        let link = Wiring()
        let sender = ReportSender(server: server, app: app, folder: folder, adjust: adjust) { link.answered($0) }
        let driver = Driver(
            file: MemoryFile(folder: folder),
            vendor: UIDevice.current.identifierForVendor?.uuidString,
            world: Driver.World(
                now: { Date.now.timeIntervalSince1970 },
                read: { link.read() },
                endCard: { card in for type in link.types.values { type.endCard(card) } },
                ticket: ticket,
                send: { sender.send($0) },
                busy: { link.stayAwake($0) }
            )
        )
        link.driver = driver
        link.sender = sender
        self.driver = driver
        self.link = link
        Task { await sender.removeOldBodies() }
        driver.take(.launched(Self.facts(environment: environment)))
        observe(UIApplication.willEnterForegroundNotification, .foreground)
        observe(UIApplication.protectedDataDidBecomeAvailableNotification, .foreground)
        observe(UIApplication.didBecomeActiveNotification, .active)
        observe(UIApplication.didEnterBackgroundNotification, .background)
        observePermissions()
    }

    /// Reports the start token and all cards of a type from now on.
    ///
    /// - Parameter type: Your struct of attributes.
    public func follow<Attributes: TallyAttributes>(_ type: Attributes.Type) {
        guard link.types[Attributes.tallyType] == nil else { return }
        let followed = Followed<Attributes> { [driver] in driver.take($0) }
        link.types[Attributes.tallyType] = followed
        followed.listen()
    }

    /// Starts a card, or finds the one that shows this activity already.
    ///
    /// - Parameters:
    ///   - attributes: What does not change.
    ///   - content: The state that your backend sent to Tally.
    ///   - revision: Its revision, from Tally's answer to your backend; 0 if you do not know it.
    ///   - channel: Apple's id of the activity's channel. Without it, and before iOS 18, the card has an update token.
    /// - Returns: The card.
    /// - Throws: What ActivityKit throws, such as too many cards.
    public func start<Attributes: TallyAttributes>(
        _ attributes: Attributes,
        _ content: Attributes.ContentState,
        revision: Int,
        channel: String? = nil
    ) async throws -> Activity<Attributes> {
        follow(Attributes.self)
        let running = Activity<Attributes>.activities.first {
            $0.attributes.tallyID == attributes.tallyID && $0.activityState != .ended && $0.activityState != .dismissed
        }
        if let running { return running }
        // Written first, so that a card whose app dies now is known as the app's own.
        driver.take(.starting(activity: attributes.tallyID, AppStart(channel: channel, revision: revision)))
        do {
            let card = try Activity.request(
                attributes: attributes,
                content: ActivityContent(state: content, staleDate: nil),
                pushType: Self.pushType(channel)
            )
            (link.types[Attributes.tallyType] as? Followed<Attributes>)?.watch(card)
            return card
        } catch {
            driver.take(.notStarted(activity: attributes.tallyID))
            throw error
        }
    }

    /// Ends a card that this app shows, and takes it off the screen.
    ///
    /// - Parameter activity: The id of the activity.
    public func end(_ activity: String) async {
        for card in link.read().cards where card.activity == activity {
            driver.take(.ending(card))
            for type in link.types.values { type.endCard(card.id) }
        }
    }

    /// Says who is signed in, after each sign-in and at each launch. If it is another user than before, the cards of that one
    /// end, and the next ticket is for the new one.
    ///
    /// - Parameter user: Any text that tells users apart. It never leaves the phone.
    public func signIn(_ user: String) async {
        driver.take(.signedIn(user))
    }

    /// The user signed out: all cards end, and the phone belongs to nobody. It is stored, so it takes effect even if Tally cannot
    /// be reached now. Call it before the app forgets the user.
    public func signOut() async {
        driver.take(.signedOut)
    }

    /// Says what this phone follows, whoever is signed in: the whole list, which replaces the one before. It is stored, so Tally
    /// learns of it even if it cannot be reached now. The ticket must allow the topics.
    ///
    /// What a user follows on all devices, your backend tells Tally.
    ///
    /// - Parameter topics: Such as `team:ajax`, up to 200. Empty: none.
    public func setTopics(_ topics: [String]) {
        driver.take(.topics(topics))
    }

    /// Reports the token of ordinary pushes, for wake-ups and fallback alerts.
    ///
    /// - Parameter token: From `didRegisterForRemoteNotificationsWithDeviceToken`.
    public func deviceToken(_ token: Data) {
        driver.take(.deviceToken(token.hexText))
    }

    /// Tally woke the app by a background push. Call it in `didReceiveRemoteNotification`.
    public func wokenUp() {
        driver.take(.foreground)
    }

    /// What keeps Tally from knowing this phone. Log it.
    public var problems: AsyncStream<KitProblem> { driver.problems }

    /// Cards that have ended, and who ended them.
    public var endings: AsyncStream<CardEnding> { driver.endings }

    /// What Tally knows of this phone, for a debug view. It holds no token.
    public var status: TallyStatus { TallyStatus(driver.memory) }
}

extension Tally {
    private static func facts(environment: String?) -> PhoneFacts {
        let profile = Bundle.main.url(forResource: "embedded", withExtension: "mobileprovision")
        return PhoneFacts(
            // An app from the App Store has no profile.
            environment: environment
                ?? PushEnvironment.ofThisBuild(profile: profile.flatMap { try? Data(contentsOf: $0) }),
            osVersion: UIDevice.current.systemVersion,
            appVersion: Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String ?? "0"
        )
    }

    /// The folder for what an app keeps; iOS names one.
    private static var folder: URL {
        FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
            ?? FileManager.default.temporaryDirectory
    }

    private static func pushType(_ channel: String?) -> PushType {
        if let channel, #available(iOS 18, *) { .channel(channel) } else { .token }
    }

    private func observe(_ name: Notification.Name, _ event: PhoneEvent) {
        observers.append(
            NotificationCenter.default.addObserver(forName: name, object: nil, queue: .main) { [driver] _ in
                Task { @MainActor in driver.take(event) }
            }
        )
    }

    private func observePermissions() {
        let permissions = ActivityAuthorizationInfo()
        Task { [driver] in
            for await _ in permissions.activityEnablementUpdates { driver.take(.foreground) }
        }
        Task { [driver] in
            for await _ in permissions.frequentPushEnablementUpdates { driver.take(.foreground) }
        }
    }
}

/// What ties the parts together.
@MainActor
private final class Wiring {
    weak var driver: Driver?
    var sender: ReportSender?
    var types: [String: any FollowedType] = [:]
    private var assertion = UIBackgroundTaskIdentifier.invalid

    func answered(_ event: PhoneEvent) { driver?.take(event) }

    func read() -> Reading {
        let permissions = ActivityAuthorizationInfo()
        var reading = Reading(
            activitiesEnabled: permissions.areActivitiesEnabled,
            frequentPushesEnabled: permissions.frequentPushesEnabled
        )
        for type in types.values { type.read(into: &reading) }
        return reading
    }

    /// While reports are due, iOS lets the app run for some seconds more. What is left then goes to iOS.
    func stayAwake(_ busy: Bool) {
        if busy, assertion == .invalid {
            assertion = UIApplication.shared.beginBackgroundTask(withName: "TallyKit") { [weak self] in
                self?.sender?.handOver()
                self?.release()
            }
        } else if !busy {
            release()
        }
    }

    private func release() {
        guard assertion != .invalid else { return }
        UIApplication.shared.endBackgroundTask(assertion)
        assertion = .invalid
    }
}
#endif
