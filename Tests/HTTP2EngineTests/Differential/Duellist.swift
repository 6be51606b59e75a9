import HTTP2TestSupport

@testable import HTTP2Engine

/// One client session with its own strict server.
final class Duellist {
    enum Outcome: Equatable {
        case answered(status: Int, fields: [HTTP2Header], body: [UInt8])
        case failed(HTTP2StreamFailure)
    }

    /// What a client has sent.
    final class Sent {
        var bytes: [UInt8] = []
    }

    let implementation: HTTP2Implementation
    var onOutput: ([UInt8]) -> Void = { _ in }
    let session: any ClientSession
    let server = StrictServer()
    private(set) var outcomes: [UInt64: Outcome] = [:]
    private(set) var complaints: [String] = []
    private(set) var limits: [Int] = []

    init(_ implementation: HTTP2Implementation, firstStream: Int32 = 1) throws {
        self.implementation = implementation
        session = try FrameSessions.client(
            implementation,
            maximumBody: 100_000,
            maximumHeaders: 4096,
            firstStream: firstStream
        )
    }

    /// Whether a connection would submit a request.
    var hasRoom: Bool { session.acceptsRequests && session.openStreams < session.maximumConcurrentStreams }

    /// Submits a request if there is room; the number of its stream.
    @discardableResult
    func submit(_ request: OutgoingRequest, tag: UInt64, path: [UInt8]) throws -> Int32? {
        hasRoom ? try session.submit(request, tag: tag, pathSuffix: path.span) : nil
    }

    func receive(_ bytes: [UInt8]) {
        do throws(HTTP2Error) {
            let block = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
            defer { block.deallocate() }
            block.copyBytes(from: bytes)
            try session.receive(UnsafeRawBufferPointer(block))
        } catch {
            complaints.append("\(error)")
        }
    }

    /// Takes all events and sends all output, as a wire does.
    func settle() {
        while session.hasEvents || speak() {
            session.takeEvents(record)
        }
    }

    private func speak() -> Bool {
        var spoke = false
        do throws(HTTP2Error) {
            while let output = try session.nextOutput() {
                let bytes = Array(output)
                server.take(bytes)
                onOutput(bytes)
                spoke = true
            }
        } catch {
            complaints.append("\(error)")
        }
        return spoke
    }

    private func record(_ event: SessionEvent) {
        switch event {
        case .responded(let tag, let response):
            settle(tag, .answered(status: response.status, fields: response.fields.all, body: response.body))
        case .failed(let tag, let failure): settle(tag, .failed(failure))
        case .settings(let limit): limits.append(limit)
        case .goAway, .pong: break
        }
    }

    private func settle(_ tag: UInt64, _ outcome: Outcome) {
        if outcomes[tag] != nil { complaints.append("request \(tag) was told of twice") }
        outcomes[tag] = outcome
    }

    func end() {
        session.failOpenStreams(lastWritten: .max) { record(SessionEvent($0)) }
    }
}
