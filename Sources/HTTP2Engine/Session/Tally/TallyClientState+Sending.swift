extension TallyClientState {
    /// How many bytes of requests one call of ``nextOutput()`` encodes at least, if there are that many: two TLS
    /// records.
    private static let round = 32 * 1024

    mutating func nextOutput() -> UnsafeRawBufferPointer? {
        output.removeAll()
        if control.count > 0 { writeControl() }
        if let fault {
            // Nothing else matters to the peer any more.
            if !fault.isSaid { output.appendGoAway(fault.code) }
            self.fault?.isSaid = true
        } else {
            if !resets.isEmpty { writeResets() }
            if unsaidIncrement > 0 || !windowUpdates.isEmpty { writeWindowUpdates() }
            // Bodies that have waited go before new requests, which would take their window.
            writeBodies()
            writeRequests()
        }
        return output.count == 0 ? nil : unsafe output.bytes
    }

    private mutating func writeControl() {
        unsafe output.append(control.bytes.assumingMemoryBound(to: UInt8.self))
        control.removeAll()
        acknowledgements = 0
        refusals = 0
    }

    private mutating func writeResets() {
        for (queued, code) in resets where flows[queued.slot].stream == queued.stream {
            guard flows[queued.slot].phase == .closing else { continue }
            output.appendReset(stream: queued.stream, code)
            close(queued.slot, code)
        }
        resets.removeAll(keepingCapacity: true)
    }

    private mutating func writeWindowUpdates() {
        if unsaidIncrement > 0 { output.appendWindowUpdate(stream: 0, unsaidIncrement) }
        unsaidIncrement = 0
        for queued in windowUpdates where flows[queued.slot].stream == queued.stream {
            let increment = flows[queued.slot].unsaidIncrement
            flows[queued.slot].unsaidIncrement = 0
            guard flows[queued.slot].phase == .answered, !flows[queued.slot].hasReceivedAll else { continue }
            output.appendWindowUpdate(stream: queued.stream, increment)
        }
        windowUpdates.removeAll(keepingCapacity: true)
    }

    // MARK: Requests

    private mutating func writeRequests() {
        while output.count < Self.round, let next = requests.first {
            let isWanted = flows[next.slot].stream == next.stream && flows[next.slot].phase == .queued
            guard !isWanted || activeStreams < settings.maximumConcurrentStreams else { return }
            requests.removeFirst()
            if isWanted { writeRequest(next) }
        }
    }

    private mutating func writeRequest(_ queued: QueuedStream) {
        let slot = queued.slot
        guard let headers = unsafe streams.pointee.slots[slot].headers else { return }
        flows[slot].phase = .sent
        flows[slot].window = settings.initialWindow
        lastSent = queued.stream
        activeStreams += 1
        let start = output.count
        // The length is not known before the block is written.
        output.append(FrameHead(type: .headers, stream: queued.stream, length: 0))
        encoder.append(headers, flows[slot].pathSuffix, to: &output)
        if !flows[slot].extra.isEmpty {
            for field in flows[slot].extra { HeaderEncoder.append(field, to: &output) }
            flows[slot].extra = []
        }
        let hasBody = flows[slot].hasBody
        finishBlock(start: start, stream: queued.stream, endsStream: !hasBody)
        guard hasBody else {
            flows[slot].hasSentAll = true
            return
        }
        // Bodies that wait for the connection's window go first.
        if !bodies.isEmpty || !writeBody(queued) { waitForWindow(slot) }
    }

    /// Writes the heads around a block: HEADERS, and CONTINUATION if the block is longer than the server's frames.
    private mutating func finishBlock(start: Int, stream: Int32, endsStream: Bool) {
        let size = output.count - start - FrameHead.size
        let largest = settings.maximumFrame
        var flags: FrameFlags = endsStream ? .endStream : []
        guard size > largest else {
            flags.insert(.endHeaders)
            return output.replace(FrameHead(type: .headers, flags: flags, stream: stream, length: size), at: start)
        }
        output.replace(FrameHead(type: .headers, flags: flags, stream: stream, length: largest), at: start)
        let rest = output.removeBytes(from: start + FrameHead.size + largest)
        for first in stride(from: 0, to: rest.count, by: largest) {
            let part = Array(rest[first..<min(first + largest, rest.count)])
            let isLast = first + largest >= rest.count
            let flags: FrameFlags = isLast ? .endHeaders : []
            output.append(FrameHead(type: .continuation, flags: flags, stream: stream, length: part.count))
            output.append(part)
        }
    }

    // MARK: Bodies

    private mutating func writeBodies() {
        while output.count < Self.round, window > 0, let next = bodies.first {
            bodies.removeFirst()
            guard flows[next.slot].stream == next.stream, flows[next.slot].isInBodies else { continue }
            flows[next.slot].isInBodies = false
            guard canSendBody(next.slot) else { continue }
            // One frame each in turn.
            if !writeBody(next) { waitForWindow(next.slot) }
        }
    }

    /// Whether the server still wants the body.
    private func canSendBody(_ slot: Int) -> Bool {
        (flows[slot].phase == .sent || flows[slot].phase == .answered) && !flows[slot].hasSentAll
    }

    /// Queues the rest of a body, unless the stream's own window is closed. Then a WINDOW_UPDATE queues it.
    mutating func waitForWindow(_ slot: Int) {
        guard canSendBody(slot), flows[slot].window > 0, !flows[slot].isInBodies else { return }
        flows[slot].isInBodies = true
        bodies.append(QueuedStream(slot: slot, stream: flows[slot].stream))
    }

    /// Writes one DATA frame, as long as both windows and the server's limit allow. True if the body is complete.
    private mutating func writeBody(_ queued: QueuedStream) -> Bool {
        let slot = queued.slot
        // A large frame would exceed a TLS record, and delay others.
        let allowed = min(window, flows[slot].window, FrameHead.maximumPayload)
        guard allowed > 0 else { return false }
        let start = output.count
        output.append(FrameHead(type: .data, stream: queued.stream, length: 0))
        let streams = unsafe streams
        let (count, isLast) = unsafe output.append(upTo: allowed) { target in
            unsafe streams.pointee.slots[slot].readBody(into: target)
        }
        let flags: FrameFlags = isLast ? .endStream : []
        output.replace(FrameHead(type: .data, flags: flags, stream: queued.stream, length: count), at: start)
        window -= count
        flows[slot].window -= count
        guard isLast else { return false }
        flows[slot].hasSentAll = true
        // The server has answered without waiting for the body.
        if flows[slot].hasReceivedAll { close(slot, .noError) }
        return true
    }
}
