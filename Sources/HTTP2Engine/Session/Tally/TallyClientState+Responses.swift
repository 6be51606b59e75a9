/// A header block that arrives, perhaps in several frames.
struct HeaderBlock {
    /// A server that needs more of them does not mean well.
    static let maximumContinuations = 8

    let stream: Int32
    /// The slot of the response; `nil` if the block only keeps the decoder's table right.
    var slot: Int?
    let endsStream: Bool
    var continuations = 0
}

/// HEADERS, CONTINUATION and DATA.
extension TallyClientState {
    mutating func takeHeaders(_ head: FrameHead, _ payload: UnsafeRawBufferPointer) throws(SessionFault) {
        let part = unsafe try unpadded(head, payload, dropping: head.flags.contains(.priority) ? 5 : 0)
        guard head.stream != 0, !isIdle(head.stream) else {
            throw SessionFault(.protocolError, "HEADERS on a stream that was not opened")
        }
        let slot = try beginHeaders(head.stream)
        let endsStream = head.flags.contains(.endStream)
        let begun = HeaderBlock(stream: head.stream, slot: slot, endsStream: endsStream)
        try unsafe decode(part, begun, isLast: head.flags.contains(.endHeaders))
    }

    mutating func takeContinuation(_ head: FrameHead, _ payload: UnsafeRawBufferPointer) throws(SessionFault) {
        guard var begun = block else { throw SessionFault(.protocolError, "CONTINUATION without HEADERS") }
        begun.continuations += 1
        guard begun.continuations <= HeaderBlock.maximumContinuations else {
            throw SessionFault(silent: .violation, "a header block has too many CONTINUATION frames")
        }
        try unsafe decode(payload, begun, isLast: head.flags.contains(.endHeaders))
    }

    /// The slot that a header block belongs to; `nil` if nobody waits for it.
    private mutating func beginHeaders(_ stream: Int32) throws(SessionFault) -> Int? {
        guard let slot = table.slot(stream), flows[slot].isOpen else { return nil }
        guard !flows[slot].hasReceivedAll else {
            throw SessionFault(.streamClosed, "HEADERS after the end of the response")
        }
        guard flows[slot].phase != .closing else { return nil }
        flows[slot].rules.begin(isFirst: flows[slot].phase == .sent)
        flows[slot].phase = .answered
        unsafe streams.pointee.slots[slot].headersBegin()
        return slot
    }

    mutating func decode(_ part: UnsafeRawBufferPointer, _ begun: HeaderBlock, isLast: Bool) throws(SessionFault) {
        // A reference of its own, because the fields change the rest of the state.
        let decoder = decoder
        let isWhole = unsafe decoder.decode(part, isLast: isLast) { name, value in
            guard let slot = begun.slot, flows[slot].phase == .answered else { return }
            guard unsafe flows[slot].rules.field(name, value) else { return reset(slot, .protocolError) }
            let fits = unsafe streams.pointee.slots[slot].header(name, value, limit: streams.pointee.maximumHeaders)
            if !fits { reset(slot, .internalError) }
        }
        guard isWhole else { throw SessionFault(.compressionError, "a header block cannot be decoded") }
        block = isLast ? nil : begun
        if isLast, let slot = begun.slot { endHeaders(slot, endsStream: begun.endsStream) }
    }

    private mutating func endHeaders(_ slot: Int, endsStream: Bool) {
        guard flows[slot].phase == .answered else { return }
        let isComplete = flows[slot].rules.end(endsStream: endsStream)
        if endsStream { flows[slot].hasReceivedAll = true }
        guard isComplete else { return reset(slot, .protocolError) }
        if endsStream { endResponse(slot) }
    }

    private mutating func endResponse(_ slot: Int) {
        flows[slot].hasReceivedAll = true
        unsafe streams.pointee.slots[slot].hasEnded = true
        // A body that is not sent so far may still be sent.
        if flows[slot].hasSentAll { close(slot, .noError) }
    }

    // MARK: DATA

    mutating func takeData(_ head: FrameHead, _ payload: UnsafeRawBufferPointer) throws(SessionFault) {
        guard head.stream != 0, !isIdle(head.stream) else {
            throw SessionFault(.protocolError, "DATA on a stream that was not opened")
        }
        guard let slot = table.slot(head.stream), flows[slot].isOpen else { return try count(payload.count) }
        guard !flows[slot].hasReceivedAll else {
            throw SessionFault(.streamClosed, "DATA after the end of the response")
        }
        guard flows[slot].phase != .closing else { return try count(payload.count) }
        guard flows[slot].phase == .answered else { throw SessionFault(.protocolError, "DATA before HEADERS") }
        let chunk = unsafe try unpadded(head, payload, dropping: 0)
        try count(payload.count)
        let endsStream = head.flags.contains(.endStream)
        guard countOnStream(slot, payload.count, endsStream: endsStream) else {
            return reset(slot, .flowControlError)
        }
        guard unsafe chunk.isEmpty || flows[slot].rules.body(chunk.count) else { return reset(slot, .protocolError) }
        let bytes = unsafe chunk.assumingMemoryBound(to: UInt8.self)
        if unsafe !streams.pointee.slots[slot].data(bytes, limit: streams.pointee.maximumBody) { reset(slot, .cancel) }
        guard endsStream, flows[slot].phase == .answered else { return }
        guard flows[slot].rules.bodyEnds() else {
            flows[slot].hasReceivedAll = true
            return reset(slot, .protocolError)
        }
        endResponse(slot)
    }

    /// Counts bytes in the connection's window, also those that nobody waits for.
    private mutating func count(_ bytes: Int) throws(SessionFault) {
        received += bytes
        guard received <= Self.connectionWindow else {
            throw SessionFault(.flowControlError, "DATA beyond the connection's window")
        }
        // Given back in halves of the window, so that few frames do.
        guard unsaidIncrement == 0, received >= Self.connectionWindow / 2 else { return }
        unsaidIncrement = received
        received = 0
    }

    /// Counts bytes in a stream's window; false if they exceed it.
    private mutating func countOnStream(_ slot: Int, _ bytes: Int, endsStream: Bool) -> Bool {
        flows[slot].received += bytes
        guard flows[slot].received <= Self.streamWindow else { return false }
        guard !endsStream, flows[slot].unsaidIncrement == 0, flows[slot].received >= Self.streamWindow / 2 else {
            return true
        }
        flows[slot].unsaidIncrement = flows[slot].received
        flows[slot].received = 0
        windowUpdates.append(QueuedStream(slot: slot, stream: flows[slot].stream))
        return true
    }
}
