import APNSTransport
import ActivityModel
import Cryptography
import Foundation
import JSON
import Logging
import Reactor
import TLSEngine

@testable import APNSSimulator

/// The simulator, and Tally's own transport to it: HTTP/2 over TLS. Both have the time of a lane.
///
/// The simulator knows tokens, keeps pushes for phones that are offline, and judges what each phone does with them. Its
/// own apps report nothing and get no tokens: the apps of lives do.
final class SimulatedApple: Sendable {
    private struct Listening: Sendable {
        let listeners: LoopBound<AppleListeners>
        let port: UInt16
    }

    private static let host = "127.0.0.1"

    let simulation: Simulation
    let client: APNSClient
    private let loop: EventLoop
    private let listeners: LoopBound<AppleListeners>

    init(_ clock: LifeClock) async throws {
        let simulation = Simulation(
            settings: SimulationSettings(),
            now: { ClockReading(milliseconds: clock.milliseconds) },
            followUp: { _, _ in }
        )
        let certificate = try SelfSignedCertificate.make()
        let context = try TLSContext.server(
            certificatePEM: certificate.certificatePEM,
            privateKeyPEM: certificate.privateKeyPEM
        )
        let loop = try EventLoop(name: "apple")
        let opened = try await loop.perform {
            Result<Listening, any Error> {
                let listeners = try AppleListeners(
                    loop: loop,
                    simulation: simulation,
                    context: context,
                    host: SimulatedApple.host,
                    ports: [:]
                )
                return Listening(
                    listeners: LoopBound(listeners, to: loop),
                    port: listeners.ports[ListenerRole(.production, .device)] ?? 0
                )
            }
        }
        let listening = try opened.get()
        client = try SimulatedApple.client(to: listening.port, trusting: certificate, clock)
        listeners = listening.listeners
        self.loop = loop
        self.simulation = simulation
    }

    private static func client(
        to port: UInt16,
        trusting certificate: SelfSignedCertificate,
        _ clock: LifeClock
    ) throws -> APNSClient {
        let file = FileManager.default.temporaryDirectory.appending(path: "lives-\(UUID().uuidString).pem")
        try Data(certificate.caPEM.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }  // read by then; nothing depends on it
        var endpoints = APNSEndpoints()
        endpoints[.production, .device] = APNSEndpoint(host: host, port: port)
        var configuration = APNSClientConfiguration()
        // A busy machine is no silent Apple.
        configuration.requestTimeout = .seconds(60)
        return try APNSClient(
            endpoints: endpoints,
            caFile: file.path,
            providerTokens: LanesProviderTokens(clock),
            configuration: configuration,
            logger: Logger(label: "lives") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    func shutDown() async {
        await client.shutDown()
        loop.execute { [listeners] in listeners.value.close() }
        await loop.shutDown()
    }
}

/// Provider tokens by the lane's time. The transport has the machine's time, so it would keep a token for days of the lane.
/// Each token is called too old to be kept: the transport asks for each request, and connections last.
private struct LanesProviderTokens: ProviderTokenStore {
    private let local: LocalProviderTokens

    init(_ clock: LifeClock) { local = LocalProviderTokens { clock.milliseconds / 1000 } }

    func token(for identity: SigningIdentity, replacing expired: ProviderToken?) async throws -> IssuedProviderToken {
        let issued = try local.token(for: identity, replacing: expired)
        return IssuedProviderToken(issued.token, age: ProviderTokenIssuer.maximumAge)
    }

    func tooManyTokens(for identity: SigningIdentity) async throws { local.tooManyTokens(for: identity) }
}

/// The phones of one life at the simulator.
final class SimulatedPhones: LifeApple {
    private static let game = ActivityTypeName(stored: "Game")
    /// What the policy of lives says (``Policy/Expiration``), in seconds.
    private static let (startKept, updateKept) = (600.0, 28_800.0)

    private let simulation: Simulation
    private let clock: LifeClock
    private let app: BundleID
    /// What no phone of another life begins with.
    private let name: String
    /// Their numbers at the simulator.
    private var numbers: [Int] = []
    /// How many of the pushes that each has received were taken.
    private var taken: [Int] = []

    init(at simulation: Simulation, _ clock: LifeClock, of app: BundleID, named name: String) {
        self.simulation = simulation
        self.clock = clock
        self.app = app
        self.name = name
    }

    /// Changes a phone, and tells Apple what follows.
    private func change(_ phone: Int, _ event: (inout APNSSimulator.Phone, ClockReading) -> [PhoneEffect]) {
        let number = numbers[phone]
        simulation.adjust { world, now in
            _ = world.withPhone(number, at: now) { event(&$0, now) }
        }
    }

    // MARK: Tokens

    func give(_ token: String, inPlaceOf old: String?, to phone: Int) {
        change(phone) { _, now in
            Self.retirement(of: old, now) + [.issue(token: token, .start(type: Self.game), expiresAt: nil)]
        }
    }

    func give(_ token: String, to card: PhoneCard, on phone: Int) {
        change(phone) { phone, now in
            Self.retirement(of: card.token, now) + Self.issue(token, to: card.number, of: &phone)
        }
    }

    private static func retirement(of token: String?, _ now: ClockReading) -> [PhoneEffect] {
        guard let token else { return [] }
        return [.retire(token: token, since: now.milliseconds)]
    }

    private static func issue(
        _ token: String,
        to card: Int,
        of phone: inout APNSSimulator.Phone
    ) -> [PhoneEffect] {
        phone.cards[card].link = .token(token)
        let end = phone.cards[card].startedAt.milliseconds + phone.limits.lifetime
        return [.issue(token: token, .update(card: card), expiresAt: end)]
    }

    // MARK: Phones and cards

    func addPhone() {
        let id = DeviceID(stored: "\(name)-\(numbers.count)")
        let profile = PhoneProfile(
            id: id,
            environment: .production,
            bundleID: app,
            osVersion: OSVersion(18, 1),
            types: [],
            // The simulator does not know which cards are of one activity. So it leaves it to TallyKit to end one of two.
            idAttribute: "",
            takesStartTokens: false,
            frequentPushesEnabled: false,
            seed: 1
        )
        simulation.addPhones([profile])
        numbers.append(simulation.read { world, _ in world.phoneNumber(id) } ?? 0)
        taken.append(0)
    }

    func addCard(on phone: Int) -> Int {
        var number = 0
        change(phone) { phone, now in
            number = Self.addCard(to: &phone, now)
            return []
        }
        return number
    }

    private static func addCard(to phone: inout APNSSimulator.Phone, _ now: ClockReading) -> Int {
        phone.addCard(
            activityID: nil,
            type: game,
            startedByPush: false,
            attributesByteCount: 0,
            contentState: nil,
            at: now
        )
    }

    /// The simulator knows no scheduled cards: another one takes the place, and its eight hours begin now.
    func begin(_ card: PhoneCard, on phone: Int) -> Int {
        var number = 0
        change(phone) { phone, now in
            phone.cards[card.number].phase = .replaced(since: now.milliseconds)
            number = Self.addCard(to: &phone, now)
            guard let token = card.token else { return [] }
            return Self.issue(token, to: number, of: &phone)
        }
        return number
    }

    func end(_ card: PhoneCard, on phone: Int) {
        change(phone) { phone, now in
            let known = phone.cards[card.number]
            // A push may have ended it.
            guard known.isLive(at: now.milliseconds, limits: phone.limits) else { return [] }
            phone.cards[card.number].phase = .swipedAway(since: now.milliseconds)
            return phone.unlink(known, at: now.milliseconds)
        }
    }

    func setOnline(_ isOnline: Bool, _ phone: Int) {
        change(phone) { phone, _ in
            if isOnline { return phone.comeOnline() }
            phone.goOffline()
            return []
        }
    }

    func setForceQuit(_ isForceQuit: Bool, _ phone: Int) {
        change(phone) { phone, now in
            guard isForceQuit else { return phone.launch(at: now) }
            phone.forceQuit()
            return []
        }
    }

    // MARK: Pushes

    /// Takes the pushes that phones have received since the last call. It goes phone by phone, because pushes that leave together
    /// arrive in any order.
    func take() -> [Push] {
        var pushes: [Push] = []
        for (phone, number) in numbers.enumerated() {
            let known = taken[phone]
            let new = simulation.read { world, _ in Array(world.phones[number].received.dropFirst(known)) }
            taken[phone] += new.count
            pushes += new.map { push($0, to: phone) }
        }
        return pushes
    }

    private func push(_ received: ReceivedPush, to phone: Int) -> Push {
        let body = received.body
        let kind: Push.Kind
        switch received.verdict {
        case .started, .secondCard: kind = .start
        case .shown: kind = .update
        case .ended:
            let stamp = body.timestamp ?? 0
            kind = .end(atOnce: body.dismissalDate.map { $0 <= stamp + 1 } == true)
        case .delivered: kind = .ignored(why: "it is for no card")
        case .ignored(let reason): kind = .ignored(why: reason.rawValue)
        }
        return Push(
            kind: kind,
            token: "",
            activity: body.attributes?.object?["home"]?.string ?? "",
            revision: body.contentState?.object?["score"]?.int64.map { Int($0) } ?? 0,
            sentAt: clock.seconds(at: received.at.milliseconds),
            keptFor: kind == .start ? Self.startKept : Self.updateKept,
            landing: Push.Landing(phone: phone, card: received.card)
        )
    }
}
