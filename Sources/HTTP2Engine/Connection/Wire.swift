import Reactor
import TLSEngine

/// Receives the events of a wire; the connection that owns it. Every call comes from the loop, never inside a call to
/// the wire.
protocol WireDelegate: AnyObject {
    /// The TLS handshake is complete and ALPN chose `h2`.
    func wireOpened()
    /// The session may have new events.
    func wireMoved()
    /// The kernel has accepted bytes: every frame encoded so far may have left.
    func wireWrote()
    /// The wire has closed for good; called once. The session's last events were offered before.
    func wireClosed(_ error: HTTP2Error?)
}

/// A socket, a TLS session and an HTTP/2 session, and the bytes between them. It belongs to a loop.
@safe
final class Wire {
    enum State {
        case handshaking
        case open
        /// All bytes are written. The wire waits for the peer to close first, so that a reset cannot overtake the last
        /// bytes.
        case lingering
        case closed
    }

    /// The maximum encrypted bytes that wait for the socket before encoding pauses.
    static let highWater = 256 * 1024
    /// One full TLS record.
    private static let recordSize = 16 * 1024
    private static let inputSize = 64 * 1024
    /// The maximum number of reads in a row. Then other objects on the loop run.
    private static let readsPerPass = 8
    /// Submissions between two rounds of encoding. The library's queue is only fast while it is short.
    private static let submissionsPerRound = 128

    let loop: EventLoop
    private let socket: Socket
    private let tls: TLSSession
    private let session: any FrameSession
    private let lingerTime: Duration?
    /// A strong reference, from the start to the end. The loop references this object for the same time.
    private var delegate: (any WireDelegate)?
    private var registration: Registration?
    private(set) var state = State.handshaking
    /// Whether new frames cannot reach the peer any more: the peer has ended, or the connection is about to end.
    private(set) var isEnding = false
    private var lingerTimer: TimerID?
    private var isPaused = false
    private var isScheduled = false
    /// Set if the connection ends in the next scheduled pass.
    private var pendingEnd: Ending?
    private var submissions = 0
    private var gathered = 0
    private let record: UnsafeMutableRawBufferPointer
    private let input: UnsafeMutableRawBufferPointer
    /// The link by which scheduled passes find this object; empty before the start and after the end.
    private let link: LoopBound<Link>

    private enum Ending {
        case orderly(HTTP2Error?)
        case abrupt
    }

    /// Takes a connected socket, without any I/O before ``start(delegate:)``.
    ///
    /// - `lingerTime`: how long to wait for the peer's end after this side's; `nil` closes at once.
    init(
        loop: EventLoop,
        socket: Socket,
        tls: TLSSession,
        session: any FrameSession,
        lingerTime: Duration?
    ) {
        self.loop = loop
        self.socket = socket
        self.tls = tls
        self.session = session
        self.lingerTime = lingerTime
        unsafe record = .allocate(byteCount: Self.recordSize, alignment: 16)
        unsafe input = .allocate(byteCount: Self.inputSize, alignment: 16)
        link = LoopBound(Link(), to: loop)
    }

    deinit {
        unsafe record.deallocate()
        unsafe input.deallocate()
    }

    /// Begins the handshake.
    func start(delegate: any WireDelegate) {
        self.delegate = delegate
        link.value.wire = self
        do {
            registration = try loop.register(fd: socket.fd, interest: .read) { [self] ready in moved(ready) }
            schedule()
        } catch {
            end(.orderly(HTTP2Error(.lost, "socket", cause: error)))
        }
    }

    // MARK: Calls from the connection

    /// Sends what the session has queued, in the loop's next pass.
    func schedule() {
        guard !isScheduled, state != .closed else { return }
        isScheduled = true
        loop.execute { [link] in link.value.wire?.runScheduled() }
    }

    /// Reports more submitted requests. It encodes after some of them, so that queues stay short.
    func submitted(_ count: Int) {
        submissions += count
        if submissions >= Self.submissionsPerRound, state == .open {
            // A record that is not full waits for the rest of the pass.
            do throws(HTTP2Error) { try encode() } catch { end(.orderly(error)) }
        }
        schedule()
    }

    /// Ends the connection in the loop's next pass. Frames that the session has not encoded by now are lost.
    func end(_ error: HTTP2Error?) {
        end(.orderly(error))
    }

    /// Ends the connection in the loop's next pass by a TCP reset.
    func drop() {
        end(.abrupt)
    }

    /// Pauses or resumes reading from the peer.
    func setPaused(_ paused: Bool) {
        isPaused = paused
        schedule()
    }

    private func end(_ ending: Ending) {
        // The first reason is the true one, but nothing may replace a reset.
        if case .abrupt = ending { pendingEnd = ending } else if pendingEnd == nil { pendingEnd = ending }
        schedule()
    }

    // MARK: Passes

    private func runScheduled() {
        isScheduled = false
        guard state != .closed else { return }
        switch pendingEnd {
        case .abrupt?: finish(nil, abruptly: true)
        case .orderly(let error)?: finish(error)
        case nil: exchange([])
        }
    }

    private func moved(_ ready: Interest) {
        guard pendingEnd == nil else { return schedule() }
        exchange(ready)
    }

    /// One round: read, deliver events, write.
    private func exchange(_ ready: Interest) {
        var failure: HTTP2Error?
        var peerEnded = false
        do throws(HTTP2Error) {
            if state == .handshaking { try shakeHands() }
            if ready.contains(.read) { peerEnded = try readAll() }
        } catch {
            failure = error
        }
        guard state != .lingering else {
            if peerEnded || failure != nil { finish(nil) }
            return
        }
        isEnding = peerEnded || failure != nil
        delegate?.wireMoved()
        if !isEnding { failure = flush() }
        if session.hasEvents { schedule() }
        guard state != .closed else { return }
        if let failure { return finish(failure) }
        if peerEnded { return finish(HTTP2Error(.lost, "the peer closed the connection")) }
        if state == .open, session.isFinished, tls.outputCount == 0 { return sayGoodbye() }
        updateInterest()
    }

    private func updateInterest() {
        guard let registration else { return }
        var interest: Interest = isPaused ? [] : .read
        if tls.outputCount > 0 { interest.insert(.write) }
        do {
            try loop.update(registration, interest: interest)
        } catch {
            finish(HTTP2Error(.lost, "socket", cause: error))
        }
    }

    // MARK: Reading

    private func shakeHands() throws(HTTP2Error) {
        switch tls.handshake() {
        case .complete:
            state = .open
            delegate?.wireOpened()
        case .wantsMore: break
        case .closed: throw HTTP2Error(.lost, "the peer closed the connection during the handshake")
        case .failed(let error):
            throw HTTP2Error(error.code == .protocolNotChosen ? .noHTTP2 : .tls, "handshake", cause: error)
        }
    }

    /// True if the peer has ended its side.
    private func readAll() throws(HTTP2Error) -> Bool {
        for _ in 0..<Self.readsPerPass where !isPaused || state == .lingering {
            let transfer: Socket.Transfer
            do {
                transfer = try unsafe socket.read(into: input)
            } catch {
                throw HTTP2Error(.lost, "socket", cause: error)
            }
            switch transfer {
            case .wouldBlock: return false
            case .endOfStream: return true
            case .moved(let count):
                guard state != .lingering else { continue }
                unsafe tls.feed(UnsafeRawBufferPointer(rebasing: input.prefix(count)))
                if state == .handshaking { try shakeHands() }
                if state == .open, try decrypt() { return true }
                // A short read has emptied the socket. If more arrives, the loop calls again.
                if count < Self.inputSize { return false }
            }
        }
        return false
    }

    /// True if the peer announced that it sends nothing more.
    private func decrypt() throws(HTTP2Error) -> Bool {
        while true {
            switch unsafe tls.read(into: input) {
            case .complete(let count):
                try unsafe session.receive(UnsafeRawBufferPointer(rebasing: input.prefix(count)))
            case .wantsMore: return false
            case .closed: return true
            case .failed(let error): throw HTTP2Error(.tls, "read", cause: error)
            }
        }
    }

    // MARK: Writing

    /// Encodes and sends until there is nothing more or the socket is full. Returns the error, if any.
    @discardableResult
    private func flush() -> HTTP2Error? {
        do throws(HTTP2Error) {
            while true {
                if state == .open {
                    try encode()
                    try sealRest()
                }
                // Encoding stops at the high-water mark, so there may be more after the socket has taken everything.
                guard tls.outputCount > 0, try send() else { return nil }
            }
        } catch {
            return error
        }
    }

    /// Moves frames from the session through TLS, combined into full records. The last one may be incomplete:
    /// ``sealRest()``.
    private func encode() throws(HTTP2Error) {
        submissions = 0
        // Checked once per record, because the output grows by whole records.
        var room = Self.highWater - tls.outputCount
        while room > 0, let frame = try unsafe session.nextOutput() {
            var rest = unsafe frame
            while rest.count > 0 {
                if gathered == 0, rest.count >= Self.recordSize {
                    try unsafe seal(UnsafeRawBufferPointer(rebasing: rest.prefix(Self.recordSize)))
                    unsafe rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(Self.recordSize))
                    room = Self.highWater - tls.outputCount
                    continue
                }
                let count = min(rest.count, Self.recordSize - gathered)
                let part = unsafe UnsafeRawBufferPointer(rebasing: rest.prefix(count))
                unsafe UnsafeMutableRawBufferPointer(rebasing: record[gathered...]).copyMemory(from: part)
                gathered += count
                unsafe rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
                if gathered == Self.recordSize {
                    try sealRest()
                    room = Self.highWater - tls.outputCount
                }
            }
        }
    }

    /// Encrypts what is gathered.
    private func sealRest() throws(HTTP2Error) {
        let count = gathered
        gathered = 0
        try unsafe seal(UnsafeRawBufferPointer(rebasing: record.prefix(count)))
    }

    private func seal(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        var rest = unsafe bytes
        while rest.count > 0 {
            switch unsafe tls.write(rest) {
            case .complete(let count): unsafe rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            case .wantsMore, .closed: throw HTTP2Error(.tls, "the TLS session takes no data")
            case .failed(let error): throw HTTP2Error(.tls, "write", cause: error)
            }
        }
    }

    /// True if the kernel has accepted everything.
    private func send() throws(HTTP2Error) -> Bool {
        while tls.outputCount > 0 {
            do {
                switch try unsafe socket.write(tls.output) {
                case .moved(let count):
                    tls.consumeOutput(count)
                    delegate?.wireWrote()
                case .wouldBlock, .endOfStream: return false
                }
            } catch {
                // The peer is gone, but its last frames (such as a GOAWAY) may still be in the socket.
                if state == .open { _ = try readAll() }
                isEnding = true
                delegate?.wireMoved()
                throw HTTP2Error(.lost, "socket", cause: error)
            }
        }
        return true
    }

    // MARK: Closing

    private func sayGoodbye() {
        guard let lingerTime else { return finish(nil) }
        tls.close()
        flush()
        socket.shutDownWriting()
        state = .lingering
        isPaused = false
        updateInterest()
        lingerTimer = loop.schedule(after: lingerTime) { [self] in
            lingerTimer = nil
            finish(nil)
        }
    }

    private func finish(_ error: HTTP2Error?, abruptly: Bool = false) {
        guard state != .closed else { return }
        isEnding = true
        delegate?.wireMoved()
        if abruptly {
            cancelRegistration()
            socket.abort()
        } else {
            writeLast()
            cancelRegistration()
            socket.close()
        }
        state = .closed
        link.value.wire = nil
        let delegate = delegate.take()
        delegate?.wireClosed(error)
    }

    /// Writes the bytes that wait for the socket, then close_notify or an alert.
    private func writeLast() {
        // Frames that are encoded leave, so that the peer knows of them. If TLS has failed, nothing leaves.
        if state == .open { try? sealRest() }
        let hadFrames = tls.outputCount > 0
        if state == .open { tls.close() }
        guard tls.outputCount > 0 else { return }
        // A write error no longer matters here. But requests among the written bytes may have left, so success is
        // reported.
        if case .moved? = try? unsafe socket.write(tls.output), hadFrames { delegate?.wireWrote() }
    }

    private func cancelRegistration() {
        if let registration { loop.cancel(registration) }
        registration = nil
        if let lingerTimer { loop.cancel(lingerTimer) }
        lingerTimer = nil
    }
}

private final class Link {
    var wire: Wire?
}
