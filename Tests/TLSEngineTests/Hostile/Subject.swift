@testable import TLSEngine

/// One of our TLS sessions with a hostile peer: driven as a wire drives it, in pieces of up to 64 KiB.
final class Subject {
    let session: TLSSession
    private(set) var isOpen = false
    private(set) var error: TLSError?
    private(set) var isClosed = false
    private(set) var received: [UInt8] = []
    /// The most that ever lay between the session and its socket.
    private(set) var mostHeld = 0

    init(_ session: TLSSession) {
        self.session = session
    }

    var isOver: Bool { error != nil || isClosed }

    func begin() {
        step()
    }

    func feed(_ ciphertext: [UInt8]) {
        var rest = ciphertext[...]
        while !isOver, !rest.isEmpty {
            let piece = rest.prefix(64 * 1024)
            rest = rest.dropFirst(piece.count)
            // A block of its own size, so that a sanitizer sees a read beyond its end.
            let block = UnsafeMutableRawBufferPointer.allocate(byteCount: piece.count, alignment: 1)
            block.copyBytes(from: piece)
            session.feed(UnsafeRawBufferPointer(block))
            block.deallocate()
            step()
        }
    }

    func takeOutput() -> [UInt8] {
        let bytes = Array(session.output)
        session.consumeOutput(bytes.count)
        return bytes
    }

    private func step() {
        if !isOpen {
            switch session.handshake() {
            case .complete: isOpen = true
            case .wantsMore: break
            case .closed: isClosed = true
            case .failed(let error): self.error = error
            }
        }
        if isOpen, !isOver {
            let (bytes, end) = MemoryHandshake.readAll(session)
            received += bytes
            switch end {
            case .closed: isClosed = true
            case .failed(let error): self.error = error
            case .wantsMore, .complete: break
            }
        }
        mostHeld = max(mostHeld, session.heldBytes)
    }
}
