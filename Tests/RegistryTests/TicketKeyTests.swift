import APITypes
import ActivityModel
import Cryptography
import Intake
import JSON
import Postgres
import OrchestratorTestSupport
import TestSupport
import Testing

@testable import Orchestrator
@testable import Registry
@testable import Store

@Suite("Ticket keys", .timeLimit(.minutes(2)))
struct TicketKeyTests {
    private static let phone = DeviceID(stored: "phone")
    private static let fan = UserID(stored: "fan")

    /// A ticket as the backend of the app makes it with a key.
    private func ticket(
        _ key: TicketKeyResource,
        _ app: BundleID,
        user: String? = "fan",
        issued: Int64 = -10,
        expires: Int64 = 3_600,
        on registry: Orchestrator
    ) async throws -> String {
        let now = try await now(registry)
        var claims: JSONObject = [
            "aud": .string(app.rawValue), "device_id": "phone", "environment": "production", "activities": ["final"],
            "iat": .number(JSONNumber(now + issued)), "exp": .number(JSONNumber(now + expires)),
        ]
        claims["sub"] = user.map { .string($0) }
        let header: JSONObject = ["alg": .string(key.algorithm.rawValue), "kid": .string(key.id), "typ": "JWT"]
        let secret = try #require(key.secret)
        return try signedText(claims, header: header) { message in
            switch key.algorithm {
            case .hs256: HMACSHA256.authenticationCode(for: message, key: Array(secret.utf8))
            case .es256: try P256PrivateKey(pem: secret).signature(for: message)
            }
        }
    }

    private func now(_ registry: Orchestrator) async throws -> Int64 {
        let rows = try await registry.database.query("SELECT floor(extract(epoch FROM clock_timestamp()))::int8")
        return try #require(try rows.single(Int64.self))
    }

    private func key(
        _ registry: Orchestrator,
        _ app: BundleID,
        _ algorithm: TicketAlgorithm = .hs256
    ) async throws -> TicketKeyResource {
        try await registry.createTicketKey(app, TicketKeyRequest(algorithm: algorithm))
    }

    /// Why a ticket is refused; nil if it is accepted. What was believed before is forgotten, as it is after three
    /// seconds.
    private func reason(_ ticket: String, _ registry: Orchestrator) async throws -> String? {
        registry.registry.caches.principals.removeAll()
        let refusal = try await problem { _ = try await registry.authenticate(secret: ticket) }
        if let refusal { #expect(refusal.status == 401) }
        return refusal?.detail
    }

    @Test("A ticket that the backend signs allows what its claims say", arguments: TicketAlgorithm.allCases)
    func authenticates(algorithm: TicketAlgorithm) async throws {
        try await withRegistry { registry, app in
            let key = try await key(registry, app, algorithm)
            let text = try await ticket(key, app, on: registry)
            let principal = try #require(try await registry.authenticate(secret: text))
            let allowed = try #require(principal.ticket)
            #expect(allowed.app == app)
            #expect(allowed.device == Self.phone)
            #expect(allowed.user == Self.fan)
            #expect(allowed.environment == .production)
            #expect(allowed.activities == [ActivityID(stored: "final")])
            #expect(principal.scopes.isEmpty)
            #expect(try await reason(text + "A", registry)?.contains("signature is not valid") == true)
        }
    }

    @Test("The secret is shown once, and what is stored does not open for another app or key")
    func secret() async throws {
        try await withRegistry { registry, app in
            let shared = try await key(registry, app)
            let pair = try await key(registry, app, .es256)
            let listed = try await registry.ticketKeys(app, PageRequest()).items
            #expect(listed.map(\.id) == [shared.id, pair.id])
            #expect(listed.allSatisfy { $0.secret == nil })
            let rows = try await registry.database.query("SELECT ticket_key_id::text, key_sealed FROM ticket_keys")
            for (id, sealed) in try rows.decoded(as: (String, [UInt8]).self) {
                let kept = try SecretSeal.ticketKey(app, id).open(sealed, under: registry.masterKeys)
                let text = String(decoding: kept, as: UTF8.self)
                #expect(!String(decoding: sealed, as: UTF8.self).contains(text.prefix(20)))
                #expect(!text.contains("PRIVATE"))
                for (otherApp, otherID) in [(BundleID(stored: "com.example.other"), id), (app, Self.noID)] {
                    #expect(throws: CryptographyError.self) {
                        try SecretSeal.ticketKey(otherApp, otherID).open(sealed, under: registry.masterKeys)
                    }
                }
            }
        }
    }

    private static let noID = "00000000-0000-4000-8000-000000000000"

    @Test("A key of another app, an unknown key and an expired ticket are 401 with the reason")
    func refused() async throws {
        try await withRegistry { registry, app in
            let key = try await key(registry, app)
            let other = BundleID(stored: "com.example.other")
            _ = try await registry.putApp(other, .production(key: P256PrivateKey.generate().pem()))
            let ofOther = try await ticket(key, other, on: registry)
            #expect(try await reason(ofOther, registry)?.contains("'aud'") == true)
            for id in [Self.noID, "k1", key.id.uppercased()] {
                var unknown = key
                unknown.id = id
                let text = try await ticket(unknown, app, on: registry)
                #expect(try await reason(text, registry)?.contains("'kid'") == true, "\(id)")
            }
            let over = try await ticket(key, app, issued: -3_600, expires: -1, on: registry)
            #expect(try await reason(over, registry)?.contains("expired") == true)
            #expect(try await reason("a.b.c", registry)?.contains("not a JWT") == true)
        }
    }

    @Test("Two keys are good at the same time, and a revoked one is refused though it was just used")
    func rotation() async throws {
        try await withRegistry { registry, app in
            let (old, new) = (try await key(registry, app), try await key(registry, app, .es256))
            let (before, after) = (
                try await ticket(old, app, on: registry), try await ticket(new, app, on: registry)
            )
            #expect(try await reason(before, registry) == nil)
            #expect(try await reason(after, registry) == nil)
            try await registry.revokeTicketKey(app, old.id, afterSeconds: 86_400)
            #expect(try await reason(before, registry) == nil)
            // Another daemon revokes it: this one still knows the key.
            _ = try await registry.database.execute(
                "UPDATE ticket_keys SET revoked_at = now() WHERE ticket_key_id = \(old.id)::uuid"
            )
            #expect(try await reason(before, registry)?.contains("key is revoked") == true)
            #expect(try await reason(after, registry) == nil)
        }
    }

    @Test("A revocation takes effect at once on the daemon that makes it, and never later than it was announced")
    func revocation() async throws {
        try await withRegistry { registry, app in
            let key = try await key(registry, app)
            let text = try await ticket(key, app, on: registry)
            #expect(try await registry.authenticate(secret: text) != nil)
            func revokedAt() async throws -> Instant? {
                try await registry.ticketKeys(app, PageRequest()).items.first?.revokedAt
            }
            try await registry.revokeTicketKey(app, key.id, afterSeconds: 60)
            let first = try #require(try await revokedAt())
            try await registry.revokeTicketKey(app, key.id, afterSeconds: 3_600)
            #expect(try await revokedAt() == first)
            try await registry.revokeTicketKey(app, key.id, afterSeconds: 0)
            #expect(try #require(try await revokedAt()) < first)
            let refusal = try await problem { _ = try await registry.authenticate(secret: text) }
            #expect(refusal?.detail.contains("key is revoked") == true)
            let other = BundleID(stored: "com.example.other")
            for (app, id) in [(other, key.id), (app, Self.noID)] {
                let unknown = try await problem { try await registry.revokeTicketKey(app, id, afterSeconds: 0) }
                #expect(unknown?.status == 404)
            }
        }
    }

    @Test(
        "Earlier tickets of a revoked user or device are refused, and later ones are good",
        arguments: [UserOrDevice.user(TicketKeyTests.fan), .device(TicketKeyTests.phone)]
    )
    func revokedBefore(subject: UserOrDevice) async throws {
        try await withRegistry { registry, app in
            let key = try await key(registry, app)
            let old = try await ticket(key, app, issued: -60, on: registry)
            let new = try await ticket(key, app, issued: 0, on: registry)
            let time = Instant(unixSeconds: try await now(registry) - 30)
            #expect(try await registry.authenticate(secret: old) != nil)
            let others: [UserOrDevice] = [
                .user(UserID(stored: "phone")), .device(DeviceID(stored: "fan")), .user(UserID(stored: "other")),
            ]
            for other in others {
                _ = try await registry.revokeTickets(app, of: other, TicketRevocationRequest(revokedBefore: time))
            }
            #expect(try await registry.authenticate(secret: old) != nil)
            let answer = try await registry.revokeTickets(
                app,
                of: subject,
                TicketRevocationRequest(revokedBefore: time)
            )
            #expect(answer.revokedBefore == time)
            let refusal = try await problem { _ = try await registry.authenticate(secret: old) }
            #expect(refusal?.detail.contains("revoked") == true)
            #expect(try await reason(new, registry) == nil)
            // A request that comes late takes nothing back.
            let earlier = TicketRevocationRequest(revokedBefore: Instant(unixSeconds: 1_700_000_000))
            #expect(try await registry.revokeTickets(app, of: subject, earlier).revokedBefore == time)
            #expect(try await reason(old, registry)?.contains("revoked") == true)
        }
    }

    @Test("A revocation in the future is 422, and one of an unknown app 404")
    func refusedRevocation() async throws {
        try await withRegistry { registry, app in
            let future = TicketRevocationRequest(revokedBefore: Instant(unixSeconds: try await now(registry) + 120))
            let refusal = try await problem {
                _ = try await registry.revokeTickets(app, of: .user(Self.fan), future)
            }
            #expect(refusal?.errors.first?.pointer.description == "/revoked_before")
            let none = BundleID(stored: "com.example.none")
            let past = TicketRevocationRequest(revokedBefore: Instant(unixSeconds: 1_700_000_000))
            let unknown = try await problem { _ = try await registry.revokeTickets(none, of: .user(Self.fan), past) }
            #expect(unknown?.status == 404)
        }
    }

    @Test("A revocation is kept as long as a ticket can live")
    func forgets() async throws {
        try await withRegistry { registry, app in
            for (user, days) in [("old", 91), ("new", 89)] {
                let time = Instant(unixSeconds: try await now(registry) - Int64(days) * 86_400)
                let request = TicketRevocationRequest(revokedBefore: time)
                _ = try await registry.revokeTickets(app, of: .user(UserID(stored: user)), request)
            }
            #expect(try await RevocationExpiry(store: registry.store).forgetSome() == 1)
            let left = try await registry.database.query("SELECT subject_sha256 FROM ticket_revocations")
            #expect(try left.single([UInt8].self) == UserOrDevice.user(UserID(stored: "new")).sha256)
        }
    }

    @Test("A ticket of a user who is erased brings nobody back")
    func erasure() async throws {
        try await withRegistry { registry, app in
            let key = try await key(registry, app)
            let text = try await ticket(key, app, on: registry)
            let anonymous = try await ticket(key, app, user: nil, on: registry)
            // A backend's clock may be ahead.
            let ahead = try await ticket(key, app, issued: 50, on: registry)
            #expect(try await reason(ahead, registry) == nil)
            #expect(try await registry.authenticate(secret: text) != nil)
            try await registry.eraseUser(app, Self.fan)
            // It was just believed.
            let refusal = try await problem { _ = try await registry.authenticate(secret: text) }
            #expect(refusal?.detail.contains("revoked") == true)
            #expect(try await reason(text, registry)?.contains("revoked") == true)
            #expect(try await reason(ahead, registry)?.contains("revoked") == true)
            #expect(try await reason(anonymous, registry) == nil)
        }
    }

    @Test(
        "A ticket that another daemon still believes registers nobody who is erased",
        arguments: [false, true]
    )
    func staleCache(isKnown: Bool) async throws {
        try await withRegistry { registry, app in
            let key = try await key(registry, app)
            let text = try await ticket(key, app, on: registry)
            let believed = try #require(try await registry.authenticate(secret: text)?.ticket)
            let report = DeviceRequest(environment: .production)
            if isKnown { _ = try await registry.intake.putDevice(app, Self.phone, report) }
            try await registry.eraseUser(app, Self.fan)
            let refusal = try await problem {
                _ = try await registry.intake.registerDevice(app, Self.phone, believed.admit(report), by: believed)
            }
            #expect(refusal?.status == 401)
            #expect(refusal?.detail.contains("revoked") == true)
            let users = try await registry.database.query("SELECT user_id FROM devices")
            #expect(try users.decoded(as: String?.self) == (isKnown ? [nil] : []))
            // Whoever signs in anew has another ticket.
            let another = try await ticket(key, app, user: "other", on: registry)
            let other = try #require(try await registry.authenticate(secret: another)?.ticket)
            _ = try await registry.intake.registerDevice(app, Self.phone, other.admit(report), by: other)
            #expect(try await registry.device(app, Self.phone).userID == UserID(stored: "other"))
        }
    }

    @Test("A report by a signed ticket waits for the erasure of its user, also with a device that nobody knows")
    func erasureUnderWay() async throws {
        try await withRegistry { registry, app in
            let key = try await key(registry, app)
            let text = try await ticket(key, app, on: registry)
            let believed = try #require(try await registry.authenticate(secret: text)?.ticket)
            let report = DeviceRequest(environment: .production)
            let refusal = try await withThrowingTaskGroup(of: Problem?.self) { group in
                try await registry.database.withTransaction { connection in
                    _ = try await connection.query(RevocationRows.lock(Self.fan, in: app))
                    group.addTask {
                        try await problem {
                            _ = try await registry.intake
                                .registerDevice(app, Self.phone, believed.admit(report), by: believed)
                        }
                    }
                    try await eventually("the report waits", every: .milliseconds(2)) {
                        let waiting: Query = """
                            SELECT FROM pg_stat_activity
                            WHERE datname = current_database() AND wait_event = 'advisory'
                            """
                        return try await registry.database.query(waiting).count > 0
                    }
                    _ = try await connection.execute(RevocationRows.erasure(of: Self.fan, in: app))
                }
                return try await group.next() ?? nil
            }
            #expect(refusal?.status == 401)
            #expect(try await registry.database.query("SELECT FROM devices").count == 0)
        }
    }

    @Test("With the app go its keys, and no ticket of them is good any more")
    func deletedApp() async throws {
        try await withRegistry { registry, app in
            let key = try await key(registry, app)
            let text = try await ticket(key, app, on: registry)
            #expect(try await registry.authenticate(secret: text) != nil)
            try await registry.deleteApp(app)
            #expect(try await reason(text, registry)?.contains("'kid'") == true)
            let unknown = try await problem { _ = try await self.key(registry, app) }
            #expect(unknown?.status == 404)
            let list = try await problem { _ = try await registry.ticketKeys(app, PageRequest()) }
            #expect(list?.status == 404)
        }
    }
}
