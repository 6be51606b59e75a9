import HTTP2TestSupport
import Testing

@Suite("Attacks by name")
struct AttackTests {
    @Test("frames that are wrong at both ends, against a client", .bothSessions, arguments: FrameAttacks.all)
    func client(attack: Attack) throws {
        try attack.run(against: .client)
    }

    @Test("frames that are wrong at both ends, against a server", arguments: FrameAttacks.all)
    func server(attack: Attack) throws {
        try attack.run(against: .server)
    }

    @Test("a hostile server", .bothSessions, arguments: ClientAttacks.all)
    func hostileServer(attack: Attack) throws {
        try attack.run(against: .client)
    }

    @Test("a hostile client", arguments: ServerAttacks.all)
    func hostileClient(attack: Attack) throws {
        try attack.run(against: .server)
    }
}
