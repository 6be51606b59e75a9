/// SETTINGS, PING, GOAWAY, RST_STREAM, WINDOW_UPDATE, PRIORITY and PUSH_PROMISE.
extension TallyClientState {
    mutating func takeSettings(_ head: FrameHead, _ payload: UnsafeRawBufferPointer) throws(SessionFault) {
        guard head.stream == 0 else { throw SessionFault(.protocolError, "SETTINGS on a stream") }
        guard !head.flags.contains(.acknowledgement) else {
            guard unacknowledgedSettings > 0 else {
                throw SessionFault(.protocolError, "an acknowledgement of SETTINGS that were not sent")
            }
            unacknowledgedSettings -= 1
            return
        }
        var next = settings
        try unsafe next.apply(payload) { (change) throws(SessionFault) in
            switch change {
            case .headerTable(let size): encoder.setTableSize(size)
            case .initialWindow(let difference): try moveWindows(by: difference)
            }
        }
        settings = next
        acknowledgements += 1
        control.append(FrameHead(type: .settings, flags: .acknowledgement, stream: 0, length: 0))
        unsafe streams.pointee.notes.append(.settings(settings.maximumConcurrentStreams))
    }

    /// Changes the windows of all open streams (RFC 9113 §6.9.2). They may become negative.
    private mutating func moveWindows(by difference: Int) throws(SessionFault) {
        for slot in flows.indices where flows[slot].isOpen {
            flows[slot].window += difference
            guard flows[slot].window <= ServerSettings.largestWindow else {
                throw SessionFault(.flowControlError, "SETTINGS make a stream's window too large")
            }
            waitForWindow(slot)
        }
    }

    mutating func takePing(_ head: FrameHead, _ payload: UnsafeRawBufferPointer) throws(SessionFault) {
        guard head.stream == 0 else { throw SessionFault(.protocolError, "PING on a stream") }
        let number = unsafe UInt64(bigEndian: payload.loadUnaligned(as: UInt64.self))
        guard !head.flags.contains(.acknowledgement) else { return unsafe streams.pointee.notes.append(.pong(number)) }
        guard acknowledgements < Self.maximumAcknowledgements else { throw Self.flood }
        acknowledgements += 1
        control.appendPing(number, .acknowledgement)
    }

    mutating func takeGoAway(_ head: FrameHead, _ payload: UnsafeRawBufferPointer) throws(SessionFault) {
        guard head.stream == 0 else { throw SessionFault(.protocolError, "GOAWAY on a stream") }
        let last = unsafe number(payload, at: 0)
        guard last == 0 || last & 1 == 1, unsafe last <= streams.pointee.lastProcessed else {
            throw SessionFault(.protocolError, "GOAWAY names a stream that it cannot name")
        }
        let code = unsafe UInt32(bigEndian: payload.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        goAwayReceived = true
        unsafe streams.pointee.lastProcessed = last
        unsafe streams.pointee.notes.append(.goAway(last, code, Array(payload.dropFirst(8))))
        for slot in flows.indices where flows[slot].isOpen && flows[slot].stream > last {
            close(slot, .refusedStream)
        }
        // Also those below the last stream: the server accepts no new ones.
        withdrawRequests()
    }

    mutating func takeReset(_ head: FrameHead, _ payload: UnsafeRawBufferPointer) throws(SessionFault) {
        guard head.stream != 0, !isIdle(head.stream) else {
            throw SessionFault(.protocolError, "RST_STREAM on a stream that was not opened")
        }
        guard let slot = table.slot(head.stream), flows[slot].isOpen else { return }
        let code = unsafe UInt32(bigEndian: payload.loadUnaligned(as: UInt32.self))
        close(slot, HTTP2ErrorCode(rawValue: code))
    }

    mutating func takeWindowUpdate(_ head: FrameHead, _ payload: UnsafeRawBufferPointer) throws(SessionFault) {
        let increment = unsafe Int(number(payload, at: 0))
        guard head.stream != 0 else {
            guard increment > 0 else { throw SessionFault(.protocolError, "WINDOW_UPDATE by nothing") }
            window += increment
            guard window <= ServerSettings.largestWindow else {
                throw SessionFault(.flowControlError, "WINDOW_UPDATE makes the connection's window too large")
            }
            return
        }
        guard !isIdle(head.stream) else {
            throw SessionFault(.protocolError, "WINDOW_UPDATE on a stream that was not opened")
        }
        guard let slot = table.slot(head.stream), flows[slot].isOpen else { return }
        guard increment > 0 else { throw SessionFault(.protocolError, "WINDOW_UPDATE by nothing") }
        guard flows[slot].window + increment <= ServerSettings.largestWindow else {
            return reset(slot, .flowControlError)
        }
        flows[slot].window += increment
        waitForWindow(slot)
    }

    /// Priorities are deprecated (RFC 9113 §5.3). Only their form is checked.
    mutating func takePriority(_ head: FrameHead, _ payload: UnsafeRawBufferPointer) throws(SessionFault) {
        guard head.stream != 0 else { throw SessionFault(.protocolError, "PRIORITY without a stream") }
        guard unsafe number(payload, at: 0) != head.stream else {
            throw SessionFault(.protocolError, "a stream depends on itself")
        }
    }

    /// Refuses a pushed stream. A server may push only until it knows our SETTINGS (RFC 9113 §8.4).
    mutating func takePushPromise(_ head: FrameHead, _ payload: UnsafeRawBufferPointer) throws(SessionFault) {
        let part = unsafe try unpadded(head, payload, dropping: 4)
        let promised = unsafe number(payload, at: head.flags.contains(.padded) ? 1 : 0)
        guard unacknowledgedSettings > 0, head.stream & 1 == 1, !isIdle(head.stream), promised & 1 == 0,
            promised > lastPromised
        else { throw SessionFault(.protocolError, "PUSH_PROMISE, although pushes are forbidden") }
        lastPromised = promised
        refusals += 1
        guard refusals <= Self.maximumRefusals else { throw Self.flood }
        control.appendReset(stream: promised, .cancel)
        let begun = HeaderBlock(stream: head.stream, slot: nil, endsStream: false)
        try unsafe decode(part, begun, isLast: head.flags.contains(.endHeaders))
    }

    /// 31 bits. The first bit of these fields is reserved.
    private func number(_ payload: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        let word = unsafe UInt32(bigEndian: payload.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        return Int32(word & 0x7fff_ffff)
    }
}
