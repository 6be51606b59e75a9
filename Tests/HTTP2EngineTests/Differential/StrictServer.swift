import CNGHTTP2

@testable import HTTP2Engine

/// A server that holds a client to every rule and every limit that it has announced. It says nothing by itself.
final class StrictServer {
    struct Request: Equatable {
        var fields: [HTTP2Header] = []
        var body: [UInt8] = []
        /// END_STREAM has arrived.
        var isComplete = false
        /// RST_STREAM has arrived.
        var resetCode: HTTP2ErrorCode?
        /// The server has ended its side.
        var isAnswered = false

        var isOpen: Bool { resetCode == nil && !(isComplete && isAnswered) }
    }

    /// The limits of SETTINGS, by their numbers in RFC 9113 §6.5.2.
    struct Limits {
        var tableSize: UInt32 = 4096
        var streams = UInt32.max
        var window = 65_535
        var frame = 16_384
    }

    private(set) var requests: [UInt32: Request] = [:]
    private(set) var violations: [String] = []
    private(set) var pongs = 0
    private(set) var goAway: HTTP2ErrorCode?
    /// What the client has acknowledged.
    private var limits = Limits()
    private var unacknowledged: [[(UInt16, UInt32)]] = []
    private var windows: [UInt32: Int] = [:]
    private(set) var window = 65_535
    private var bytes: [UInt8] = []
    private var hasPreface = false
    private var last: UInt32 = 0
    private var block: (stream: UInt32, endsStream: Bool, bytes: [UInt8])?
    private let inflater: OpaquePointer

    init() {
        var raw: OpaquePointer?
        guard nghttp2_hd_inflate_new(&raw) == 0, let raw else { preconditionFailure("no memory for an HPACK decoder") }
        inflater = raw
    }

    deinit {
        nghttp2_hd_inflate_del(inflater)
    }

    // MARK: What the server says

    func settings(_ pairs: [(UInt16, UInt32)]) -> [UInt8] {
        unacknowledged.append(pairs)
        return RawFrame.settings(pairs)
    }

    func grant(_ increment: UInt32) -> [UInt8] {
        window += Int(increment)
        return RawFrame.windowUpdate(increment)
    }

    func grant(stream: UInt32, _ increment: UInt32) -> [UInt8] {
        windows[stream, default: limits.window] += Int(increment)
        return RawFrame.windowUpdate(stream: stream, increment)
    }

    /// The window of a stream as the client knows it.
    func window(of stream: UInt32) -> Int { windows[stream] ?? limits.window }

    /// The server has ended its side of a stream, by an answer or a reset.
    func end(_ stream: UInt32, isReset: Bool) {
        requests[stream]?.isAnswered = true
        if isReset { requests[stream]?.isComplete = true }
    }

    /// Streams above this are closed.
    func goAway(last: UInt32) -> [UInt8] {
        for stream in requests.keys where stream > last { end(stream, isReset: true) }
        return RawFrame.goAway(last: last, code: 0)
    }

    // MARK: What the client says

    func take(_ more: [UInt8]) {
        bytes += more
        if !hasPreface {
            guard bytes.count >= RawFrame.preface.count else { return }
            if !bytes.starts(with: RawFrame.preface) { violations.append("no preface") }
            bytes.removeFirst(RawFrame.preface.count)
            hasPreface = true
        }
        let frames = RawFrame.split(bytes)
        bytes.removeFirst(frames.reduce(0) { $0 + $1.count })
        for frame in frames {
            let stream = frame[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            take(type: frame[3], flags: frame[4], stream: stream, Array(frame.dropFirst(9)))
        }
    }

    private func require(_ isRight: Bool, _ words: @autoclosure () -> String) {
        if !isRight { violations.append(words()) }
    }

    private func take(type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) {
        require(payload.count <= limits.frame, "a frame of \(payload.count) bytes")
        require(goAway == nil, "frame \(type) after GOAWAY")
        if let block { require(type == 9 && stream == block.stream, "an interrupted header block") }
        switch type {
        case 0: takeData(stream, ends: flags & 1 != 0, payload)
        case 1:
            openStream(stream)
            block = (stream, flags & 1 != 0, payload)
            if flags & 4 != 0 { finishBlock() }
        case 3:
            require(requests[stream] != nil, "RST_STREAM on idle \(stream)")
            requests[stream]?.resetCode = HTTP2ErrorCode(rawValue: number(payload, 0))
        case 4: takeSettings(flags, payload)
        case 6: if flags & 1 != 0 { pongs += 1 }
        case 7: goAway = HTTP2ErrorCode(rawValue: number(payload, 4))
        case 8: require(number(payload, 0) > 0, "WINDOW_UPDATE by nothing")
        case 9:
            block?.bytes += payload
            if flags & 4 != 0 { finishBlock() }
        default: violations.append("frame of type \(type)")
        }
    }

    private func openStream(_ stream: UInt32) {
        require(stream % 2 == 1 && stream > last, "stream \(stream) after \(last)")
        last = stream
        let open = requests.values.count(where: \.isOpen)
        require(open < limits.streams, "stream \(stream) beyond the limit of \(limits.streams)")
        requests[stream] = Request()
        windows[stream] = limits.window
    }

    private func finishBlock() {
        guard let block else { return violations.append("CONTINUATION without HEADERS") }
        self.block = nil
        var offset = 0
        while true {
            var field = nghttp2_nv()
            var flags: Int32 = 0
            let taken = block.bytes.withUnsafeBufferPointer { bytes in
                let rest = bytes[offset...]
                return nghttp2_hd_inflate_hd2(
                    inflater,
                    &field,
                    &flags,
                    UnsafeBufferPointer(rebasing: rest).baseAddress,
                    rest.count,
                    1
                )
            }
            guard taken >= 0 else { return violations.append("the block of \(block.stream) cannot be decoded") }
            offset += taken
            if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                let name = String(decoding: UnsafeBufferPointer(start: field.name, count: field.namelen), as: UTF8.self)
                let value = String(
                    decoding: UnsafeBufferPointer(start: field.value, count: field.valuelen),
                    as: UTF8.self
                )
                requests[block.stream]?.fields.append(HTTP2Header(name, value))
            }
            if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 { break }
        }
        nghttp2_hd_inflate_end_headers(inflater)
        requests[block.stream]?.isComplete = block.endsStream
    }

    private func takeData(_ stream: UInt32, ends: Bool, _ payload: [UInt8]) {
        guard let request = requests[stream] else { return violations.append("DATA on idle \(stream)") }
        require(request.resetCode == nil, "DATA on \(stream) after its reset")
        // A stream that the server has reset may still get what had left before.
        require(!request.isComplete || request.isAnswered, "DATA on \(stream) after its end")
        window -= payload.count
        windows[stream, default: 0] -= payload.count
        require(payload.isEmpty || window >= 0, "DATA beyond the connection's window")
        require(payload.isEmpty || windows[stream, default: 0] >= 0, "DATA beyond the window of \(stream)")
        requests[stream]?.body += payload
        if ends { requests[stream]?.isComplete = true }
    }

    private func takeSettings(_ flags: UInt8, _ payload: [UInt8]) {
        guard flags & 1 != 0 else { return }
        guard !unacknowledged.isEmpty else { return violations.append("an acknowledgement of nothing") }
        for (name, value) in unacknowledged.removeFirst() {
            switch name {
            case 1:
                limits.tableSize = value
                nghttp2_hd_inflate_change_table_size(inflater, Int(value))
            case 3: limits.streams = value
            case 4:
                for stream in windows.keys { windows[stream, default: 0] += Int(value) - limits.window }
                limits.window = Int(value)
            case 5: limits.frame = Int(value)
            default: break
            }
        }
    }

    private func number(_ payload: [UInt8], _ offset: Int) -> UInt32 {
        payload.dropFirst(offset).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }
}
