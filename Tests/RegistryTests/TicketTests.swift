import APITypes
import ActivityModel
import Cryptography
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import ReportTypes
import Testing

@testable import Orchestrator
@testable import Registry
@testable import Store

@Suite("Registration tickets", .timeLimit(.minutes(2)))
struct TicketTests {
    private static let phone = DeviceID(stored: "phone")

    private func request(
        user: String? = nil,
        activities: [String]? = nil,
        seconds: Int64 = 60
    ) -> RegistrationTicketRequest {
        RegistrationTicketRequest(
            environment: .production,
            deviceID: Self.phone,
            userID: user.map { UserID(stored: $0) },
            activities: activities?.map { ActivityID(stored: $0) },
            ttlSeconds: seconds
        )
    }

    @Test("A ticket is good for what it was made for, until it is over; nothing of it is stored")
    func authenticates() async throws {
        try await withRegistry { registry, app in
            let answer = try await registry.createTicket(app, request(user: "fan", activities: ["final"]))
            let principal = try await registry.authenticate(secret: answer.ticket)
            let ticket = try #require(principal?.ticket)
            #expect(ticket.app == app)
            #expect(ticket.environment == .production)
            #expect(ticket.device == Self.phone)
            #expect(ticket.user == UserID(stored: "fan"))
            #expect(ticket.activities == [ActivityID(stored: "final")])
            #expect(principal?.scopes.isEmpty == true)
            #expect(answer.expiresAt.unixSeconds == ticket.expiresAt)
            let over = try TicketSeal(keys: registry.masterKeys).seal(
                TicketGrant(app: app, environment: .production, device: Self.phone, expiresAt: 1_700_000_000)
            )
            #expect(try await registry.authenticate(secret: over) == nil)
        }
    }

    @Test("A ticket that was good a moment before is nobody's when its time comes")
    func over() async throws {
        try await withRegistry { registry, app in
            let text: Query = "SELECT floor(extract(epoch FROM clock_timestamp()))::int8"
            let began = try #require(try await registry.database.query(text).single(Int64.self))
            let ticket = TicketGrant(
                app: app,
                environment: .production,
                device: Self.phone,
                expiresAt: began + 2
            )
            let secret = try registry.registry.tickets.seal(ticket)
            #expect(try await registry.authenticate(secret: secret)?.ticket == ticket)
            while try await registry.authenticate(secret: secret) != nil {
                try await Task.sleep(for: .milliseconds(20))
            }
            // The clock is known to some milliseconds.
            #expect(try #require(try await registry.database.query(text).single(Int64.self)) >= began + 1)
        }
    }

    @Test("A ticket of which one character differs is nobody's")
    func tampered() async throws {
        try await withRegistry { registry, app in
            let ticket = try await registry.createTicket(app, request()).ticket
            for place in stride(from: TicketSeal.prefix.count, to: ticket.count, by: 7) {
                var characters = Array(ticket)
                characters[place] = characters[place] == "A" ? "B" : "A"
                #expect(try TicketSeal(keys: registry.masterKeys).open(String(characters)) == nil, "\(place)")
            }
            #expect(try await registry.authenticate(secret: TicketSeal.prefix) == nil)
            #expect(try await registry.authenticate(secret: ticket + ".") == nil)
        }
    }

    @Test("A ticket of another master key is nobody's; one of the previous key is good while that is known")
    func masterKeys() throws {
        let old = SymmetricKey.generate()
        let new = SymmetricKey.generate()
        let ticket = TicketGrant(
            app: BundleID(stored: "com.example.app"),
            environment: .sandbox,
            device: Self.phone,
            expiresAt: 4_000_000_000
        )
        let text = try TicketSeal(keys: MasterKeys(old)).seal(ticket)
        #expect(try TicketSeal(keys: MasterKeys(old)).open(text) == ticket)
        #expect(try TicketSeal(keys: MasterKeys(new)).open(text) == nil)
        #expect(try TicketSeal(keys: MasterKeys(new, others: [.generate(), old])).open(text) == ticket)
        // The signing key is not the master key itself.
        let payload = ticket.json.serialized()
        let naive = HMACSHA256.authenticationCode(for: payload, key: old.secretBytes())
        let forged = "\(TicketSeal.prefix)\(Base64URL.encode(payload)).\(Base64URL.encode(naive))"
        #expect(try TicketSeal(keys: MasterKeys(old)).open(forged) == nil)
    }

    @Test("Another device, user, environment or activity is 403")
    func forbids() throws {
        let app = BundleID(stored: "com.example.app")
        let ticket = TicketGrant(
            app: app,
            environment: .production,
            device: Self.phone,
            user: UserID(stored: "fan"),
            activities: [ActivityID(stored: "final")],
            expiresAt: 4_000_000_000
        )
        func code(_ body: () throws(Problem) -> Void) -> String? {
            do throws(Problem) {
                try body()
                return nil
            } catch {
                #expect(error.status == 403)
                return error.code
            }
        }
        func check(_ app: BundleID, _ device: String, _ activity: String?) -> String? {
            code { () throws(Problem) in
                try ticket.check(
                    app: app,
                    device: DeviceID(stored: device),
                    activity: activity.map { ActivityID(stored: $0) }
                )
            }
        }
        #expect(check(app, "phone", nil) == nil)
        #expect(check(app, "phone", "final") == nil)
        #expect(check(BundleID(stored: "com.example.other"), "phone", nil) == "app_forbidden")
        #expect(check(app, "other", nil) == "ticket_forbidden")
        #expect(check(app, "phone", "semifinal") == "ticket_forbidden")

        func report(_ environment: APNSEnvironment, user: String?) -> String? {
            var request = DeviceRequest(environment: environment)
            request.user = ReportedUser(known: user.map { UserID(stored: $0) })
            return code { () throws(Problem) in
                let admitted = try ticket.admit(request)
                #expect(admitted.user == .user(UserID(stored: "fan")))
            }
        }
        #expect(report(.production, user: nil) == nil)
        #expect(report(.production, user: "fan") == nil)
        #expect(report(.sandbox, user: "fan") == "ticket_forbidden")
        #expect(report(.production, user: "somebody") == "ticket_forbidden")
        let card = SubscriptionRequest(.channel, environment: .sandbox)
        let elsewhere = code { () throws(Problem) in _ = try ticket.admit(card) }
        #expect(elsewhere == "ticket_forbidden")
    }

    @Test("A ticket that names no activities is good for those of its device or user alone")
    func audience() async throws {
        try await withWorld { world in
            let ticket = TicketGrant(
                app: world.app,
                environment: .production,
                device: Self.phone,
                user: UserID(stored: "fan"),
                expiresAt: 4_000_000_000
            )
            try await world.start("mine", to: World.devices("phone"))
            try await world.start("of-user", to: Audience(users: [UserID(stored: "fan")]))
            try await world.start("of-all", to: Audience(allOfType: true))
            try await world.start("of-others", to: World.devices("other"))
            var allowed: [String] = []
            for id in ["mine", "of-user", "of-all", "of-others", "none"]
            where try await Self.mayReport(ticket, of: id, in: world) {
                allowed.append(id)
            }
            #expect(allowed == ["mine", "of-user", "of-all"])
        }
    }

    /// Whether the bearer of a ticket may report a card; the report of one who may not changes nothing.
    private static func mayReport(_ ticket: TicketGrant, of id: String, in world: World) async throws -> Bool {
        let devices = try await world.number("SELECT count(*) FROM devices")
        let request = SubscriptionRequest(.ended, environment: ticket.environment)
        let refusal = try await problem {
            _ = try await world.orchestrator.intake.subscribe(
                world.app,
                ActivityID(stored: id),
                ticket.device,
                request,
                by: ticket
            )
        }
        guard let refusal else { return true }
        #expect(refusal.code == "ticket_forbidden")
        #expect(try await world.number("SELECT count(*) FROM devices") == devices)
        return false
    }

    @Test(
        "A signed ticket that is still believed reports no card of somebody who is erased",
        arguments: [nil, [ActivityID(stored: "final")]] as [[ActivityID]?]
    )
    func revokedMeanwhile(activities: [ActivityID]?) async throws {
        try await withWorld { world in
            _ = try await world.orchestrator.createTicketKey(world.app, TicketKeyRequest(algorithm: .hs256))
            try await world.start(to: Audience(allOfType: true))
            let ticket = TicketGrant(
                app: world.app,
                environment: .production,
                device: Self.phone,
                user: UserID(stored: "fan"),
                activities: activities,
                expiresAt: 4_000_000_000,
                issuedAt: 1_700_000_000
            )
            try await world.orchestrator.eraseUser(world.app, UserID(stored: "fan"))
            let refusal = try await problem {
                _ = try await world.orchestrator.intake.subscribe(
                    world.app,
                    ActivityID(stored: "final"),
                    Self.phone,
                    SubscriptionRequest(.ended, environment: .production),
                    by: ticket
                )
            }
            #expect(refusal?.status == 401)
            #expect(try await world.number("SELECT count(*) FROM devices") == 0)
        }
    }

    private static func ticket(_ world: World, _ device: DeviceID = phone, user: String? = "fan") -> TicketGrant {
        TicketGrant(
            app: world.app,
            environment: .production,
            device: device,
            user: user.map { UserID(stored: $0) },
            expiresAt: 4_000_000_000
        )
    }

    /// How a device came to an activity that is over now.
    enum Part: CaseIterable {
        case card, start, namedDevice, namedUser, none
    }

    @Test(
        "After the end it is still good for a card that may be there, though the audience is forgotten",
        arguments: Part.allCases
    )
    func afterEnd(part: Part) async throws {
        try await withWorld { world in
            let others = World.devices("other")
            switch part {
            case .card:
                try await world.start(to: others)
                try await world.follow("phone", token: "aa01", known: 1)
            case .start:
                try await world.register("phone", token: "5a01", os: "16.4")
                try await world.start(to: others)
                _ = try await world.orchestrator.intake.changeAudience(
                    world.app,
                    ActivityID(stored: "final"),
                    AudienceRequest(add: World.devices("phone"))
                )
                try await world.settle()
                #expect(try await world.startState("phone") == "withheld")
            case .namedDevice: try await world.start(to: World.devices("phone", "other"))
            case .namedUser: try await world.start(to: Audience(users: [UserID(stored: "fan")]))
            case .none: try await world.start(to: others)
            }
            try await world.end()
            try await world.settle()
            #expect(try await world.number("SELECT count(*) FROM audience_members") == 0)
            #expect(try await Self.mayReport(Self.ticket(world), of: "final", in: world) == (part != .none))
            let stranger = Self.ticket(world, DeviceID(stored: "stranger"), user: nil)
            #expect(try await Self.mayReport(stranger, of: "final", in: world) == false)
        }
    }

    @Test(
        "A ticket without a user takes the device from the one before, whose activities are not started on it any more"
    )
    func signOut() async throws {
        try await withWorld { world in
            try await world.register("phone", token: "5a01", user: "fan")
            world.recorder.answer("5a01", with: .unavailable)
            try await world.start(to: Audience(users: [UserID(stored: "fan")]))
            try await world.settle()
            _ = world.recorder.take()
            let report = try Self.ticket(world, user: nil).admit(DeviceRequest(environment: .production))
            _ = try await world.orchestrator.intake.registerDevice(world.app, Self.phone, report)
            #expect(try await world.orchestrator.device(world.app, Self.phone).userID == nil)
            try await world.pass(60)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            // Whoever signs in next is asked for by name.
            let next = try Self.ticket(world, user: "next").admit(DeviceRequest(environment: .production))
            _ = try await world.orchestrator.intake.registerDevice(world.app, Self.phone, next)
            try await world.start("next", to: Audience(users: [UserID(stored: "next")]))
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
        }
    }

    @Test("Many tickets in one request are in its order and have one entry in the audit log, or none is made")
    func many() async throws {
        try await withRegistry { registry, app in
            let requests = (1...1_000).map { number in
                RegistrationTicketRequest(
                    environment: .production,
                    deviceID: DeviceID(stored: "phone-\(number)"),
                    userID: UserID(stored: "fan-\(number)"),
                    ttlSeconds: Int64(number)
                )
            }
            let caller = Caller(keyID: Principal.bootstrapKeyID, requestID: "request-1")
            func make(_ requests: [RegistrationTicketRequest]) async throws -> [RegistrationTicketAnswer] {
                try await caller.acting {
                    try await registry.createTickets(app, TicketBatchRequest(tickets: requests)).tickets
                }
            }
            let answers = try await make(requests)
            #expect(answers.count == 1_000)
            for (request, answer) in zip(requests, answers) where request.ttlSeconds % 100 == 0 {
                let ticket = try await registry.authenticate(secret: answer.ticket)?.ticket
                #expect(ticket?.device == request.deviceID)
                #expect(ticket?.user == request.userID)
                #expect(ticket?.expiresAt == answer.expiresAt.unixSeconds)
            }
            var sandbox = request()
            sandbox.environment = .sandbox
            let refusal = try await problem { _ = try await make([request(), sandbox]) }
            #expect(refusal?.status == 422)
            #expect(refusal?.errors.map(\.pointer.description) == ["/tickets/1/environment"])
            let filter = AuditFilter(app: app, action: .ticketIssued)
            let entries = try await registry.audit(filter, PageRequest(), only: nil).items
            #expect(entries.map(\.subject) == [app.rawValue])
            #expect(entries.first?.after?["tickets"]?.int64 == 1_000)
            #expect(entries.first?.after?["expires_at"]?.string == answers.last?.expiresAt.description)
        }
    }

    @Test("A ticket for an app that does not exist is 404, for an environment without a key 422")
    func refused() async throws {
        try await withRegistry { registry, app in
            let none = BundleID(stored: "com.example.none")
            let unknown = try await problem { _ = try await registry.createTicket(none, request()) }
            #expect(unknown?.status == 404)
            var sandbox = request()
            sandbox.environment = .sandbox
            let keyless = try await problem { _ = try await registry.createTicket(app, sandbox) }
            #expect(keyless?.status == 422)
            #expect(keyless?.errors.map(\.pointer.description) == ["/environment"])
        }
    }
}
