extension TallyClientState {
    mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        guard wantsInput else { return }
        do throws(SessionFault) {
            try unsafe readFrames(bytes)
        } catch {
            switch error.ending {
            case .silent(let code): throw HTTP2Error(code, error.reason)
            case .goAway(let code): fail(code, error.reason)
            }
        }
    }

    private mutating func readFrames(_ bytes: UnsafeRawBufferPointer) throws(SessionFault) {
        var rest = unsafe bytes
        if reader.count > 0, !(unsafe try finishFrame(&rest)) { return }
        while let head = unsafe FrameReader.head(of: rest) {
            try check(head)
            guard let payload = unsafe FrameReader.payload(of: head, from: &rest) else { break }
            try unsafe take(head, payload)
        }
        unsafe reader.keep(rest)
    }

    /// Adds bytes to the frame that was incomplete, and takes it if it is whole now. False if it is not.
    private mutating func finishFrame(_ rest: inout UnsafeRawBufferPointer) throws(SessionFault) -> Bool {
        let hadHead = reader.head != nil
        unsafe reader.fill(to: FrameHead.size, from: &rest)
        guard let head = reader.head else { return false }
        if !hadHead { try check(head) }
        unsafe reader.fill(to: FrameHead.size + head.length, from: &rest)
        guard let frame = reader.takeFrame(head) else { return false }
        var fault: SessionFault?
        unsafe frame.withUnsafeBytes { bytes in
            do throws(SessionFault) {
                try unsafe take(head, UnsafeRawBufferPointer(rebasing: bytes.dropFirst(FrameHead.size)))
            } catch {
                fault = error
            }
        }
        if let fault { throw fault }
        return true
    }

    /// Ends the session by a GOAWAY. Requests that have not left are given back.
    private mutating func fail(_ code: HTTP2ErrorCode, _ reason: String) {
        fault = (code, isSaid: false)
        unsafe streams.pointee.violation = "\(code): \(reason)"
        withdrawRequests()
    }

    // MARK: Heads

    /// Judges a frame by its head (RFC 9113 §4.2, and the sizes of §6).
    private func check(_ head: FrameHead) throws(SessionFault) {
        if !hasSettings, head.type != .settings || head.flags.contains(.acknowledgement) {
            throw SessionFault(.protocolError, "the first frame is not SETTINGS")
        }
        if let block, head.type != .continuation || head.stream != block.stream {
            throw SessionFault(.protocolError, "a header block is interrupted")
        }
        guard head.length <= FrameHead.maximumPayload else {
            throw SessionFault(.frameSizeError, "a frame is too long")
        }
        guard hasRightSize(head) else { throw SessionFault(.frameSizeError, "a frame has the wrong size") }
        if head.type == .settings { try checkSettings(head) }
    }

    private func hasRightSize(_ head: FrameHead) -> Bool {
        switch head.type {
        case .priority: head.length == 5
        case .reset, .windowUpdate: head.length == 4
        case .ping: head.length == 8
        case .goAway: head.length >= 8
        case .settings: head.flags.contains(.acknowledgement) ? head.length == 0 : head.length % 6 == 0
        default: true
        }
    }

    private func checkSettings(_ head: FrameHead) throws(SessionFault) {
        guard !head.flags.contains(.acknowledgement) else { return }
        guard acknowledgements < Self.maximumAcknowledgements else { throw Self.flood }
        guard head.length <= 6 * ServerSettings.maximumEntries else {
            throw SessionFault(.enhanceYourCalm, "SETTINGS have too many entries")
        }
    }

    static var flood: SessionFault { SessionFault(silent: .flooded, "the peer provokes more frames than it reads") }

    // MARK: Frames

    private mutating func take(_ head: FrameHead, _ payload: UnsafeRawBufferPointer) throws(SessionFault) {
        hasSettings = true
        switch head.type {
        case .headers: try unsafe takeHeaders(head, payload)
        case .data: try unsafe takeData(head, payload)
        case .continuation: try unsafe takeContinuation(head, payload)
        case .windowUpdate: try unsafe takeWindowUpdate(head, payload)
        case .settings: try unsafe takeSettings(head, payload)
        case .ping: try unsafe takePing(head, payload)
        case .reset: try unsafe takeReset(head, payload)
        case .goAway: try unsafe takeGoAway(head, payload)
        case .priority: try unsafe takePriority(head, payload)
        case .pushPromise: try unsafe takePushPromise(head, payload)
        default: break
        }
    }

    /// Whether a stream was never opened (RFC 9113 §5.1).
    func isIdle(_ stream: Int32) -> Bool {
        stream & 1 == 1 ? stream > lastSent : stream > lastPromised
    }

    /// The payload without padding, and without `extra` bytes in front of it (RFC 9113 §6.1, §6.2).
    func unpadded(
        _ head: FrameHead,
        _ payload: UnsafeRawBufferPointer,
        dropping extra: Int
    ) throws(SessionFault) -> UnsafeRawBufferPointer {
        guard head.flags.contains(.padded) else {
            guard payload.count >= extra else {
                throw SessionFault(.frameSizeError, "a frame is too short")
            }
            return unsafe UnsafeRawBufferPointer(rebasing: payload.dropFirst(extra))
        }
        guard let padding = unsafe payload.first, 1 + extra + Int(padding) <= payload.count else {
            throw SessionFault(.protocolError, "a frame has more padding than bytes")
        }
        return unsafe UnsafeRawBufferPointer(rebasing: payload.dropFirst(1 + extra).dropLast(Int(padding)))
    }
}
