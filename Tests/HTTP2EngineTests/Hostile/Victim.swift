import HTTP2TestSupport
@testable import HTTP2Engine

/// One of our sessions at the mercy of a peer: what it is fed, what it says, what it tells its owner, what it keeps.
///
/// It moves bytes as a wire does: up to 64 KiB are taken, then events, then the output, if the peer reads any.
final class Victim {
    enum Role: String, CaseIterable, Sendable { case client, server }

    static let maximumBody = 1000
    static let maximumHeaders = 1000
    static let maximumStreams = 100
    private static let pieceSize = 64 * 1024

    let role: Role
    let memory: CountedMemory
    private var client: (any ClientSession)?
    private var server: NGHTTP2ServerSession?
    /// Whether the peer reads what we have to say.
    var peerReads = true
    private(set) var sent: [UInt8] = []
    private(set) var error: HTTP2Error?
    /// What became of each request, in the order in which it was told.
    private(set) var outcomes: [(tag: UInt64, outcome: Outcome)] = []
    private(set) var requests: [HTTP2Request] = []
    private var submitted: [UInt64] = []

    enum Outcome: Equatable, Sendable {
        case answered(status: Int, body: Int)
        case failed(HTTP2StreamFailure)
    }

    init(_ role: Role) throws {
        let memory = CountedMemory()
        self.role = role
        self.memory = memory
        server =
            role != .server
            ? nil
            : try memory.withAllocator { allocator in
                try NGHTTP2ServerSession(
                    maximumConcurrentStreams: Self.maximumStreams,
                    maximumBody: Self.maximumBody,
                    maximumHeaders: Self.maximumHeaders,
                    memory: allocator
                )
            }
        if role == .client { try makeClient() }
    }

    /// The client of the current run: ``BothSessions``.
    private func makeClient() throws {
        try memory.withAllocator { allocator in
            switch BothSessions.implementation {
            case .tally:
                client = try TallyClientSession(
                    maximumBody: Self.maximumBody,
                    maximumHeaders: Self.maximumHeaders,
                    memory: allocator
                )
            case .nghttp2:
                client = try NGHTTP2ClientSession(
                    maximumBody: Self.maximumBody,
                    maximumHeaders: Self.maximumHeaders,
                    memory: allocator
                )
            }
        }
    }

    deinit {
        // Before the memory that they live in.
        client = nil
        server = nil
    }

    private var session: any FrameSession {
        if let client { return client }
        if let server { return server }
        preconditionFailure("a victim has a session")
    }

    /// The connection would be closed now.
    var isOver: Bool { error != nil || session.isFinished }
    var violation: String? { session.violation }
    var openStreams: Int { client?.openStreams ?? server?.openStreams ?? 0 }
    /// Types of the frames that were sent, and where a GOAWAY or reset carried one, its error code.
    var sentFrames: [RawFrame.Read] { RawFrame.read(sent) }

    /// Opens a client's requests; their tags are 1, 2, ….
    func submit(_ count: Int, body: [UInt8] = []) throws {
        guard let client else { return }
        let headers = try SharedHeaders(authority: "a", fields: [])
        for _ in 0..<count where client.acceptsRequests {
            let tag = UInt64(submitted.count + 1)
            let request = OutgoingRequest(headers: headers, body: body.isEmpty ? nil : SharedBytes(body))
            _ = try client.submit(request, tag: tag, pathSuffix: Array("/\(tag)".utf8).span)
            submitted.append(tag)
        }
        speak()
    }

    /// Takes the bytes as far as the connection lives.
    func feed(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !isOver, !rest.isEmpty {
            let piece = rest.prefix(Self.pieceSize)
            rest = rest.dropFirst(piece.count)
            do throws(HTTP2Error) {
                try receive(piece)
            } catch {
                self.error = error
            }
            collect()
            speak()
            // A stream that we reset is over once the reset was encoded.
            collect()
        }
    }

    private func receive(_ piece: ArraySlice<UInt8>) throws(HTTP2Error) {
        // A block of its own size, so that a sanitizer sees a read beyond its end.
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: piece.count, alignment: 1)
        defer { block.deallocate() }
        block.copyBytes(from: piece)
        try session.receive(UnsafeRawBufferPointer(block))
    }

    /// Encodes what is to be said, if the peer reads it.
    func speak() {
        guard peerReads, error == nil else { return }
        do throws(HTTP2Error) {
            while let output = try session.nextOutput() { sent += output }
        } catch {
            self.error = error
        }
    }

    private func collect() {
        client?.takeEvents(record)
        server?.takeRequests { request in
            requests.append(request)
            // What a server's owner does: an answer with a body.
            _ = try? server?.respond(
                stream: request.streamID,
                status: 200,
                fields: [HTTP2Header("seen", "yes")],
                body: SharedBytes("ok".utf8)
            )
        }
    }

    private func record(_ event: SessionEvent) {
        switch event {
        case .responded(let tag, let response):
            outcomes.append((tag, .answered(status: response.status, body: response.body.count)))
        case .failed(let tag, let failure): outcomes.append((tag, .failed(failure)))
        case .settings, .goAway, .pong: break
        }
    }

    private var clientKeeps: KeptResponses? {
        (client as? TallyClientSession)?.keptResponses ?? (client as? NGHTTP2ClientSession)?.keptResponses
    }

    /// Bytes of messages that are kept for the owner; the library's own memory is in ``memory``.
    var keptBytes: Int {
        (clientKeeps?.bytes ?? 0) + (server?.streams.slots.reduce(0) { $0 + $1.body.count + $1.fields.byteCount } ?? 0)
    }

    /// Bytes that our own session keeps beside messages: frames that are incomplete, and answers that wait.
    var waitingBytes: Int { (client as? TallyClientSession)?.keptBytes ?? 0 }

    /// Slots that were ever needed at once.
    var slots: Int { clientKeeps?.slots ?? server?.streams.slots.count ?? 0 }

    /// The connection ends: open requests fail. Afterwards every request was told of once.
    func end() -> [String] {
        client?.failOpenStreams(lastWritten: .max) { record(SessionEvent($0)) }
        var complaints: [String] = []
        if Set(outcomes.map(\.tag)) != Set(submitted) { complaints.append("a request was forgotten") }
        if outcomes.count != submitted.count { complaints.append("a request was told of twice") }
        if client?.openStreams ?? 0 != 0 { complaints.append("streams are open after the end") }
        return complaints
    }
}
