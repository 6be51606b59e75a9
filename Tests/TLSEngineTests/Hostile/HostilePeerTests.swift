import COpenSSL
import TestSupport
import Testing

@testable import TLSEngine

@Suite("TLS with peers that mean no good", .timeLimit(.minutes(10)))
struct HostilePeerTests {
    private let arena: Arena

    init() throws {
        arena = try Arena()
    }

    // MARK: Before and during the handshake

    @Test("bytes that are no TLS end the handshake at once", arguments: [true, false])
    func garbage(isServer: Bool) throws {
        var random = SeededRandom(seed: 7)
        let openings: [[UInt8]] = [
            Array("GET / HTTP/1.1\r\n\r\n".utf8), Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8),
            Array("SSH-2.0-OpenSSH_9.2\r\n".utf8), [UInt8](repeating: 0, count: 100),
            [UInt8](repeating: 0xff, count: 100), [22, 3, 1, 0xff, 0xff] + [UInt8](repeating: 1, count: 100),
            [22, 3, 1, 0, 0, 22, 3, 1, 0, 0, 21, 3, 1, 0, 2, 2, 40], [23, 3, 3, 0, 5, 1, 2, 3, 4, 5],
            [20, 3, 3, 0, 1, 1, 20, 3, 3, 0, 1, 2], (0..<5000).map { _ in .random(in: 0...255, using: &random) },
        ]
        for opening in openings {
            let subject = try arena.subject(isServer)
            subject.begin()
            subject.feed(opening)
            #expect(subject.error?.code == .failed, "\(opening.prefix(20))")
            #expect(!subject.isOpen)
        }
    }

    @Test("a message of the handshake that has no end is given up", arguments: [true, false])
    func endlessMessage(isServer: Bool) throws {
        let subject = try arena.subject(isServer)
        subject.begin()
        // A handshake message of 16 MiB that is never complete: given up long before.
        let piece = [22, 3, 1, 0x40, 0] + [UInt8](repeating: 0, count: 0x4000)
        subject.feed([22, 3, 1, 0, 4, isServer ? 1 : 2, 0xff, 0xff, 0xff] + (0..<1000).flatMap { _ in piece })
        #expect(subject.error?.code == .failed)
        #expect(subject.mostHeld < 256 * 1024)
    }

    @Test("an old version of TLS is refused with an alert")
    func oldVersion() throws {
        let subject = try arena.subject(true)
        // TLS 1.1 at most.
        let hello: [UInt8] = [3, 2] + [UInt8](repeating: 7, count: 32) + [0, 0, 2, 0, 0x2f, 1, 0]
        let message = [1, 0, 0, UInt8(hello.count)] + hello
        subject.feed([22, 3, 1, 0, UInt8(message.count)] + message)
        #expect(subject.error?.code == .failed)
        #expect(subject.takeOutput().first == 21)
    }

    @Test("a handshake cut at every byte waits for the rest", arguments: [true, false])
    func cutHandshake(isServer: Bool) throws {
        let subject = try arena.subject(isServer)
        let peer = try arena.peer(of: isServer)
        subject.begin()
        for _ in 0..<6 {
            peer.feed(subject.takeOutput())
            peer.shakeHands()
            for byte in peer.takeOutput() {
                #expect(!subject.isOver)
                subject.feed([byte])
            }
        }
        #expect(subject.isOpen)
        #expect(subject.error == nil)
    }

    // MARK: After the handshake

    @Test("a record cut at every byte waits; one with any bit changed ends the connection", arguments: [true, false])
    func damagedRecords(isServer: Bool) throws {
        let text = Array("a message that matters".utf8)
        let (subject, peer) = try arena.connected(isServer)
        for _ in 0..<3 {
            peer.write(text)
            for byte in peer.takeOutput() { subject.feed([byte]) }
        }
        #expect(subject.received == text + text + text)
        // The head of a record, its content and its tag. What it says of its version does not count (RFC 8446 §5.1).
        for place in [0, 3, 4, 5, 10, 27, -1] {
            let (subject, peer) = try arena.connected(isServer)
            peer.write(text)
            var record = peer.takeOutput()
            record[place < 0 ? record.count - 1 : place] ^= 4
            subject.feed(record + [UInt8](repeating: 0, count: 40_000))
            #expect(subject.error?.code == .failed, "byte \(place)")
            #expect(subject.received.isEmpty)
        }
    }

    @Test("a repeated record ends the connection", arguments: [true, false])
    func replay(isServer: Bool) throws {
        let (subject, peer) = try arena.connected(isServer)
        peer.write([1, 2, 3])
        let record = peer.takeOutput()
        subject.feed(record + record)
        #expect(subject.received == [1, 2, 3])
        #expect(subject.error?.code == .failed)
    }

    @Test("renegotiation is refused, and nothing is renegotiated", arguments: [true, false])
    func renegotiation(isServer: Bool) throws {
        let (subject, peer) = try arena.connected(isServer, version: TLS1_2_VERSION)
        for _ in 0..<50 where !subject.isOver {
            SSL_renegotiate(peer.ssl)
            peer.shakeHands()
            subject.feed(peer.takeOutput())
            let answer = subject.takeOutput()
            // An alert at most: no message of a handshake.
            #expect(answer.first != 22)
            peer.feed(answer)
        }
        #expect(subject.mostHeld < 64 * 1024)
    }

    @Test(
        "a flood of requests for new keys ends the connection when the answers are not read",
        arguments: [true, false]
    )
    func keyUpdates(isServer: Bool) throws {
        for reads in [true, false] {
            let (subject, peer) = try arena.connected(isServer)
            _ = subject.takeOutput()
            for _ in 0..<5000 where !subject.isOver {
                SSL_key_update(peer.ssl, SSL_KEY_UPDATE_REQUESTED)
                peer.shakeHands()
                subject.feed(peer.takeOutput())
                if reads { peer.feed(subject.takeOutput()) }
            }
            #expect(subject.mostHeld < 20 * 1024)
            #expect(subject.error?.code == (reads ? nil : .failed))
            // With the newest keys the conversation goes on.
            peer.write([1, 2, 3])
            subject.feed(peer.takeOutput())
            #expect(subject.received == (reads ? [1, 2, 3] : []))
        }
    }

    @Test("a close is a close in odd places, and nothing is read after it", arguments: [true, false])
    func closes(isServer: Bool) throws {
        let (subject, peer) = try arena.connected(isServer)
        peer.write([1])
        SSL_shutdown(peer.ssl)
        subject.feed(peer.takeOutput() + [23, 3, 3, 0, 5, 1, 2, 3, 4, 5])
        #expect(subject.received == [1])
        #expect(subject.isClosed)
        // Ours may still be written to; a close before the handshake is an error and no crash.
        #expect(MemoryHandshake.writes([1], subject.session))
        let early = try arena.subject(isServer)
        early.begin()
        early.feed([21, 3, 1, 0, 2, 1, 0])
        #expect(early.isOver)
        early.session.close()
        #expect(!MemoryHandshake.writes([1], early.session))
    }
}
